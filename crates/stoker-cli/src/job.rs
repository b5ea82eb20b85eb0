//! What a command is to do, decided before anything is contacted.
//!
//! Flags and the `-f` file come together here; whatever is wrong with either is found here, and is the
//! user's to mend (exit code 2).

mod access;
mod document;
mod profile;
mod secret;

use std::path::PathBuf;
use std::time::Duration;

use stoker_api::GatewaySync;
use stoker_api::contract::metadata::Profile;
use stoker_core::refs::{Unreachable, Wanted};
use stoker_git::Access;
use stoker_sync::request::{Deletion, Look};
use stoker_sync::{Missing, Options};
use stoker_text::template::Context;

use crate::arguments::{GatewayArguments, RepositoryArguments, TargetArguments};
use crate::failure::Failure;
use document::Documents;
use secret::Secrets;

/// Files from a commit, to a directory, for a gateway.
#[derive(Debug)]
pub(crate) struct Job {
    /// The commit, and the way to it.
    pub(crate) origin: Origin,
    /// What to do with it.
    pub(crate) target: Target,
    /// Credentials that the file brought along; they are in memory as long as this value.
    _secrets: Secrets,
}

/// A ref of a repository.
#[derive(Debug)]
pub(crate) struct Origin {
    /// The repository.
    pub(crate) access: Access,
    /// The ref, as the user wrote it.
    pub(crate) wanted: Wanted,
    /// Whether a commit that nothing reaches will do.
    pub(crate) unreachable: Unreachable,
    /// Where objects are kept.
    pub(crate) store: PathBuf,
}

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
    /// How far to look for drift.
    pub(crate) look: Look,
    /// Whom to tell.
    pub(crate) gateway: Option<stoker_ignition::Options>,
}

impl Job {
    /// Puts flags and file together.
    pub(crate) fn assemble(
        repository: &RepositoryArguments,
        target: &TargetArguments,
        gateway: &GatewayArguments,
    ) -> Result<Self, Failure> {
        let documents = Documents::read(repository.file.as_deref())?;
        let mut secrets = Secrets::new(&documents)?;
        let chosen = profile::choose(&documents, repository, target)?;
        let access = access::build(&documents, repository, &mut secrets)?;
        let git_ref = repository.git_ref.as_deref().or(documents.git_ref());
        let git_ref = git_ref.ok_or_else(|| {
            Failure::usage("no ref to sync").hint("add --ref main, or -f gatewaysync.yaml")
        })?;
        let api_key = access::api_key(&documents, gateway, &mut secrets)?;
        let origin = Origin {
            wanted: access::wanted(git_ref)?,
            unreachable: if repository.allow_unreachable {
                Unreachable::Allowed
            } else {
                Unreachable::Refused
            },
            store: access::store(repository, &access.url),
            access,
        };
        let mut target = Target::new(chosen, target);
        let is_paused = |sync: &GatewaySync| sync.spec.paused == Some(true);
        target.profile.paused |= documents.gateway_sync().is_some_and(is_paused);
        target.values.git_ref = Some(git_ref.to_owned());
        target.values.cr_name = documents.name();
        target.values.namespace = documents.namespace();
        target.gateway = gateway_options(gateway, api_key)?;
        Ok(Self { origin, target, _secrets: secrets })
    }
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
        };
        Self { profile: chosen.profile, values, data, deletion, look, gateway: None }
    }

    /// Files of a working directory, by flags alone.
    pub(crate) fn of_directory(
        arguments: &TargetArguments,
        gateway: &GatewayArguments,
    ) -> Result<Self, Failure> {
        if gateway.gateway.is_some() && gateway.api_key_file.is_none() {
            return Err(access::no_api_key());
        }
        let mut target = Self::new(profile::of_flags(arguments)?, arguments);
        target.gateway = gateway_options(gateway, gateway.api_key_file.clone())?;
        Ok(target)
    }
}

fn gateway_options(
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
