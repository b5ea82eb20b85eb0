//! What a command should do, decided before anything is contacted.
//!
//! Flags and the `-f` file are combined here. An error in either is reported here, with exit code
//! 2.

mod access;
mod document;
mod parse;
mod profile;
mod secret;
mod secret_need;
mod store;
mod target;

use std::path::PathBuf;
use std::sync::OnceLock;

use stoker_api::GatewaySync;
use stoker_api::gatewaysync::{Polling, ResolvedSecretRef, Webhook};
use stoker_api::names::SecretKey;
use stoker_api::warning::WarningCode;
use stoker_core::refs::{Unreachable, Wanted};
use stoker_git::Access;

use crate::arguments::{GatewayArguments, RepositoryArguments, TargetArguments};
use crate::failure::Failure;
use document::Documents;
use secret::Secrets;
pub(crate) use store::real;
pub(crate) use target::{FIX_THE_PROFILE, Target};

/// What people should know although the run goes on.
pub(crate) type Warning = (WarningCode, String);
type Flags<'a> = (&'a RepositoryArguments, &'a TargetArguments, &'a GatewayArguments);

/// Files from a commit, to a directory, for a gateway.
#[derive(Debug)]
pub(crate) struct Job {
    /// The commit, and the way to it.
    pub(crate) origin: Origin,
    /// What to do with it.
    pub(crate) target: Target,
    /// How often the file wants the repository to be asked.
    pub(crate) polling: Polling,
    /// What people should know of flags and file.
    pub(crate) warnings: Vec<Warning>,
    /// Credentials that the file brought along; they are in memory as long as this value.
    _secrets: Secrets,
}

/// A ref of a repository.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) access: Access,
    /// The ref, as the user wrote it.
    pub(crate) wanted: Wanted,
    /// Whether a commit that nothing reaches will do.
    pub(crate) unreachable: Unreachable,
    /// Where objects are kept.
    pub(crate) store: PathBuf,
}

impl Job {
    /// Puts flags and file together.
    pub(crate) fn assemble(
        repository: &RepositoryArguments,
        target: &TargetArguments,
        gateway: &GatewayArguments,
    ) -> Result<Self, Failure> {
        let documents = Documents::read(repository.file.as_deref())
            .map_err(|failure| failure.about(repository.git_ref.as_deref()))?;
        let git_ref = repository.git_ref.as_deref().or(documents.git_ref());
        Self::of(&documents, (repository, target, gateway), git_ref)
            .map_err(|failure| failure.about(git_ref))
    }

    fn of(
        documents: &Documents,
        (repository, target, gateway): Flags<'_>,
        git_ref: Option<&str>,
    ) -> Result<Self, Failure> {
        let mut secrets = Secrets::new(documents)?;
        let chosen = profile::choose(documents, repository, target)?;
        let access = access::build(documents, repository, &mut secrets)?;
        let git_ref = git_ref.ok_or_else(|| {
            Failure::usage("no ref to sync").hint("add --ref main, or -f gatewaysync.yaml")
        })?;
        let api_key = access::api_key(documents, gateway, &mut secrets)?;
        let origin = Origin {
            wanted: parse::wanted(git_ref)?,
            unreachable: if repository.allow_unreachable {
                Unreachable::Allowed
            } else {
                Unreachable::Refused
            },
            store: store::choose(repository, target, &access.url)?,
            access,
        };
        let flags = target;
        let mut target = Target::new(chosen, flags);
        let is_paused = |sync: &GatewaySync| sync.spec.paused == Some(true);
        target.run.profile.paused |= documents.gateway_sync().is_some_and(is_paused);
        target.run.values.git_ref = Some(git_ref.to_owned());
        target.listing = target::list_commit(git_ref);
        target.run.origin = Some(stoker_run::Origin {
            repository: origin.access.remote().to_string(),
            reference: git_ref.to_owned(),
            process: this_process().to_owned(),
        });
        target.run.values.cr_name = documents.name();
        target.run.values.namespace = documents.namespace();
        target.run.confirmed = documents.confirmed();
        target.run.gateway = target::gateway_options(gateway, api_key)?;
        target.check(flags)?;
        target.titles = secrets.titles();
        let polling = documents.gateway_sync().and_then(|sync| sync.spec.polling.clone());
        Ok(Self {
            origin,
            target,
            polling: polling.unwrap_or_default(),
            warnings: warnings(documents, &secrets),
            _secrets: secrets,
        })
    }
}

/// Returns which process this is, in words that no other has.
fn this_process() -> &'static str {
    static WORDS: OnceLock<String> = OnceLock::new();
    WORDS.get_or_init(|| {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let now = jiff::Timestamp::now();
        format!("pid {} on {host} since {now:.3}", std::process::id())
    })
}

/// What people should know of flags and file, though both are right.
fn warnings(documents: &Documents, secrets: &Secrets) -> Vec<Warning> {
    let skipped = documents.skipped.iter().map(|title| {
        (WarningCode::DocumentSkipped, format!("{title} is for a cluster only: skipped"))
    });
    let webhook = documents.gateway_sync().and_then(|sync| sync.spec.webhook.as_ref());
    let references = webhook.into_iter().flat_map(|webhook| {
        let Webhook { secret_ref, previous_secret_ref, enabled: _ } = webhook;
        [("secretRef", secret_ref), ("previousSecretRef", previous_secret_ref)]
    });
    let unserved = references.filter_map(|(field, reference)| {
        let reference = reference.as_ref()?.resolve(SecretKey::HmacKey);
        let ResolvedSecretRef { name, key } = &reference;
        let message = format!(
            "spec.webhook.{field}: no value for Secret {name}, key {key}; only a cluster uses it"
        );
        (!secrets.has(&reference)).then_some((WarningCode::ReferenceUnused, message))
    });
    skipped.chain(unserved).chain(secrets.warnings().iter().cloned()).collect()
}
