//! The receiving end: a data directory, the rules for it, and its gateway.

use std::path::{Path, PathBuf};
use std::time::Duration;

use stoker_api::chain::Chain;
use stoker_run::{Deletion, GatewayAbsence, GatewayTarget, Look, Missing, Values};

use super::{access, profile};
use crate::arguments::{GatewayArguments, TargetArguments};
use crate::failure::Failure;
use crate::output::shown;

pub(crate) const MEND_THE_PROFILE: &str =
    "mend the mapping; what it misses can be given with --var K=V or --gateway-name NAME";

/// The receiving end, and what a user needs to know of it.
#[derive(Debug)]
pub(crate) struct Target {
    /// The data directory, its profile and its gateway.
    pub(crate) run: stoker_run::Target,
    /// The command that lists what there is to map.
    pub(crate) listing: String,
}

impl Target {
    /// Everything but the gateway.
    pub(crate) fn new(chosen: profile::Chosen, arguments: &TargetArguments) -> Self {
        let mut run = stoker_run::Target::new(&arguments.data, chosen.profile);
        run.values.gateway_name.clone_from(&arguments.gateway_name);
        run.values.profile = chosen.name;
        run.deletion = arguments.allow_mass_delete.then_some(Deletion::Unlimited);
        run.look = match (arguments.verify, arguments.no_drift) {
            (true, _) => Look::Content,
            (false, true) => Look::Touched,
            (false, false) => Look::Stat,
        };
        run.data.missing = if arguments.create { Missing::Create } else { Missing::Refuse };
        run.data.lock_timeout = arguments.lock_timeout;
        run.data.follow.clone_from(&arguments.follow);
        Self { run, listing: list_commit("REF") }
    }

    /// Files of a working directory, by flags alone.
    pub(crate) fn of_directory(
        arguments: &TargetArguments,
        gateway: &GatewayArguments,
        directory: &Path,
    ) -> Result<Self, Failure> {
        if gateway.gateway.is_some() && gateway.api_key_file.is_none() {
            return Err(access::no_api_key());
        }
        let hint = "say what goes where: --map services/site/projects:projects";
        let mut target = Self::new(profile::of_flags(arguments, hint)?, arguments);
        target.run.gateway = gateway_options(gateway, gateway.api_key_file.clone())?;
        target.listing = format!("ls {}", shown(directory));
        target.check(arguments)?;
        Ok(target)
    }

    /// The data directory, as the user named it.
    pub(crate) fn data(&self) -> &Path {
        &self.run.data.data
    }

    /// Refuses a profile that is wrong with any commit.
    pub(super) fn check(&self, arguments: &TargetArguments) -> Result<(), Failure> {
        let Err(error) = self.run.check() else { return Ok(()) };
        let map = error.mapping().and_then(|position| arguments.map.get(position));
        let flag = map.map(|map| format!("--map {}:{}: ", map.source, map.destination));
        let message = format!("{}{}", flag.unwrap_or_default(), Chain(&error));
        let is_template = matches!(error, stoker_run::profile::Error::Template { .. });
        let lack = is_template.then(|| self.lack()).flatten();
        Err(Failure::usage(message).hint(lack.unwrap_or(MEND_THE_PROFILE.to_owned())))
    }

    /// The flag or field for the first thing that paths and patches speak of and nobody gave.
    fn lack(&self) -> Option<String> {
        let texts = self.run.profile.mappings.iter().flat_map(|mapping| {
            let set = mapping.patches.iter().flat_map(|patch| patch.set.values());
            [&mapping.source, &mapping.destination].into_iter().chain(set)
        });
        let Values { gateway_name, cr_name, vars, .. } = &self.run.values;
        texts.filter(|text| text.contains("{{")).find_map(|text| {
            let named = text.split(".Vars.").skip(1).map(|rest| {
                rest.split(|char: char| !(char.is_ascii_alphanumeric() || char == '_')).next()
            });
            let variable = named.flatten().find(|name| !vars.contains_key(*name));
            match variable {
                Some(name) => Some(format!("give it a value: --var {name}=VALUE")),
                None if text.contains(".GatewayName") && gateway_name.is_none() => {
                    Some("give it: --gateway-name NAME".to_owned())
                }
                None if text.contains(".CRName") && cr_name.is_none() => {
                    Some("that is metadata.name of the file, which has none: add it".to_owned())
                }
                None => None,
            }
        })
    }
}

/// The command that lists what a commit holds. A range of versions is no name to git.
pub(super) fn list_commit(git_ref: &str) -> String {
    let name = if git_ref.starts_with("semver:") { "REF" } else { git_ref };
    format!("git ls-tree -r --name-only {name}")
}

/// The gateway that is told, if one is.
pub(super) fn gateway_options(
    arguments: &GatewayArguments,
    api_key: Option<PathBuf>,
) -> Result<Option<GatewayTarget>, Failure> {
    let (Some(url), Some(key)) = (&arguments.gateway, api_key) else { return Ok(None) };
    let endpoint = stoker_ignition::Endpoint::parse(url)
        .map_err(|error| Failure::usage(format!("--gateway: {error}")))?;
    let mut options = stoker_ignition::Options::new(endpoint, key);
    options.ca_file.clone_from(&arguments.gateway_ca_file);
    options.limits.gateway = arguments.gateway_timeout.max(Duration::from_secs(1));
    Ok(Some(GatewayTarget { options, absence: GatewayAbsence::Fails }))
}
