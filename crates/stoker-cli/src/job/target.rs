//! What a command writes to: a data directory, the rules for it, and its gateway.

use std::path::{Path, PathBuf};
use std::time::Duration;

use stoker_api::chain::Chain;
use stoker_run::{Deletion, DriftCheck, GatewayAbsence, GatewayTarget, Missing};

use super::{access, profile};
use crate::arguments::{GatewayArguments, TargetArguments};
use crate::explain;
use crate::failure::Failure;
use crate::output::shown;

pub(crate) const FIX_THE_PROFILE: &str =
    "fix the mapping; a missing value can be given with --var K=V or --gateway-name NAME";

/// The receiving end, and what a user needs to know of it.
#[derive(Debug)]
pub(crate) struct Target {
    /// The data directory, its profile and its gateway.
    pub(crate) run: stoker_run::Target,
    /// The command that lists what there is to map.
    pub(crate) listing: String,
    /// Files in memory, and the Secrets that they came from.
    pub(super) titles: Vec<(PathBuf, String)>,
}

impl Target {
    /// Everything but the gateway.
    pub(crate) fn new(chosen: profile::Chosen, arguments: &TargetArguments) -> Self {
        let mut run = stoker_run::Target::new(&arguments.data, chosen.profile);
        run.values.gateway_name.clone_from(&arguments.gateway_name);
        run.values.profile = chosen.name;
        run.deletion = arguments.allow_mass_delete.then_some(Deletion::Unlimited);
        run.drift_check = match (arguments.verify, arguments.no_drift) {
            (true, _) => DriftCheck::Content,
            (false, true) => DriftCheck::Touched,
            (false, false) => DriftCheck::Stat,
        };
        run.data.missing = if arguments.create { Missing::Create } else { Missing::Refuse };
        run.data.lock_timeout = arguments.lock_timeout;
        run.data.follow.clone_from(&arguments.follow);
        Self { run, listing: list_commit("REF"), titles: Vec::new() }
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
        let hint = "add a mapping: --map services/site/projects:projects";
        let mut target = Self::new(profile::of_flags(arguments, hint)?, arguments);
        target.run.gateway = gateway_options(gateway, gateway.api_key_file.clone())?;
        target.listing = format!("ls {}", shown(directory));
        target.check(arguments)?;
        Ok(target)
    }

    /// What a user calls a file: by its path, or by the Secret that it came from.
    pub(crate) fn title(&self, path: &Path) -> String {
        let known = self.titles.iter().find(|(file, _)| file == path);
        known.map_or_else(|| shown(path).to_string(), |(_, title)| title.clone())
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
        let missing = match &error {
            stoker_run::profile::Error::Template { source, .. } => source.missing.as_deref(),
            _ => None,
        };
        let give = missing.and_then(explain::give);
        Err(Failure::usage(message).hint(give.unwrap_or(FIX_THE_PROFILE.to_owned())))
    }
}

/// The command that lists what a commit holds. A semver range is not a name that git knows.
pub(super) fn list_commit(git_ref: &str) -> String {
    let name = if git_ref.starts_with("semver:") { "REF" } else { git_ref };
    format!("git ls-tree -r --name-only {name}")
}

/// The gateway, if one is named.
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
