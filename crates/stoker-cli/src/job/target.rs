//! The receiving end: a data directory, the rules for it, and its gateway.

use std::path::{Path, PathBuf};
use std::time::Duration;

use stoker_api::chain::Chain;
use stoker_api::contract::metadata::Profile;
use stoker_sync::request::{Deletion, Look, Origin, Scan};
use stoker_sync::{Missing, Options, Request};
use stoker_text::template::Context;

use super::{access, profile};
use crate::arguments::{GatewayArguments, TargetArguments};
use crate::failure::Failure;
use crate::output::shown;
use crate::word::Reason;

const MEND_THE_PROFILE: &str =
    "mend the mapping; what it misses can be given with --var K=V or --gateway-name NAME";

/// A data directory, the rules for it, and its gateway.
#[derive(Debug)]
pub(crate) struct Target {
    /// What goes where.
    pub(crate) profile: Profile,
    /// What templates may speak of, as far as it is known before the ref is resolved.
    pub(crate) values: Context,
    /// The data directory.
    pub(crate) data: Options,
    /// What the command line says about mass deletion; else the profile's word counts.
    pub(crate) deletion: Option<Deletion>,
    /// The commit whose mass deletion the file confirms.
    pub(crate) confirmed: Option<String>,
    /// How far to look for drift.
    pub(crate) look: Look,
    /// Whom to tell.
    pub(crate) gateway: Option<stoker_ignition::Options>,
    /// The command that lists what there is to map.
    pub(crate) listing: String,
    /// Where the commit comes from, if it comes from a repository.
    pub(crate) origin: Option<Origin>,
}

impl Target {
    /// Everything but the gateway.
    pub(crate) fn new(chosen: profile::Chosen, arguments: &TargetArguments) -> Self {
        let values = Context {
            gateway_name: arguments.gateway_name.clone(),
            profile: chosen.name,
            vars: chosen.profile.vars.clone(),
            ..Context::default()
        };
        let deletion = arguments.allow_mass_delete.then_some(Deletion::Unlimited);
        let look = match (arguments.verify, arguments.no_drift) {
            (true, _) => Look::Content,
            (false, true) => Look::Touched,
            (false, false) => Look::Stat,
        };
        let data = Options {
            data: arguments.data.clone(),
            missing: if arguments.create { Missing::Create } else { Missing::Refuse },
            lock_timeout: arguments.lock_timeout,
            follow: arguments.follow.clone(),
        };
        Self {
            profile: chosen.profile,
            values,
            data,
            deletion,
            confirmed: None,
            look,
            gateway: None,
            listing: list_commit("REF"),
            origin: None,
        }
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
        target.gateway = gateway_options(gateway, gateway.api_key_file.clone())?;
        target.listing = format!("ls {}", shown(directory));
        target.check(arguments)?;
        Ok(target)
    }

    /// What is asked of the engine for a commit.
    pub(crate) fn request(&self, commit: &str) -> Result<Request, Failure> {
        let mut request = self.fill(commit).map_err(|error| {
            Failure::world(Reason::ProfilesInvalid, &error).hint(MEND_THE_PROFILE)
        })?;
        request.deletion = self.deletion.unwrap_or(request.deletion);
        if self.confirmed.as_deref() == Some(commit) {
            request.deletion = Deletion::Unlimited;
        }
        request.look = self.look;
        request.origin = self.origin.clone().map(Box::new);
        request.scan = match self.gateway {
            Some(_) => Scan::Owed,
            None => Scan::None,
        };
        Ok(request)
    }

    fn fill(&self, commit: &str) -> Result<Request, stoker_sync::profile::Error> {
        let values = Context { commit: Some(commit.to_owned()), ..self.values.clone() };
        stoker_sync::profile::request(&self.profile, values, commit)
    }

    /// Refuses a profile that is wrong whatever the commit will be: one that two commits with
    /// nothing in common can't mend.
    pub(super) fn check(&self, arguments: &TargetArguments) -> Result<(), Failure> {
        let [Err(error), Err(_)] = ["0", "f"].map(|digit| self.fill(&digit.repeat(40))) else {
            return Ok(());
        };
        let map = error.mapping().and_then(|position| arguments.map.get(position));
        let flag = map.map(|map| format!("--map {}:{}: ", map.source, map.destination));
        let message = format!("{}{}", flag.unwrap_or_default(), Chain(&error));
        let is_template = matches!(error, stoker_sync::profile::Error::Template { .. });
        let lack = is_template.then(|| self.lack()).flatten();
        Err(Failure::usage(message).hint(lack.unwrap_or(MEND_THE_PROFILE.to_owned())))
    }

    /// The flag or field for the first thing that paths and patches speak of and nobody gave.
    fn lack(&self) -> Option<String> {
        let texts = self.profile.mappings.iter().flat_map(|mapping| {
            let set = mapping.patches.iter().flat_map(|patch| patch.set.values());
            [&mapping.source, &mapping.destination].into_iter().chain(set)
        });
        let Context { gateway_name, cr_name, vars, .. } = &self.values;
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
) -> Result<Option<stoker_ignition::Options>, Failure> {
    let (Some(url), Some(key)) = (&arguments.gateway, api_key) else { return Ok(None) };
    let endpoint = stoker_ignition::Endpoint::parse(url)
        .map_err(|error| Failure::usage(format!("--gateway: {error}")))?;
    let mut options = stoker_ignition::Options::new(endpoint, key);
    options.ca_file.clone_from(&arguments.gateway_ca_file);
    options.limits.gateway = arguments.gateway_timeout.max(Duration::from_secs(1));
    Ok(Some(options))
}
