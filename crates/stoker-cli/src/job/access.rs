//! How the repository and the gateway are reached: from flags, else from the file; Secrets in the
//! file come before flags.

mod git_auth;

use std::path::PathBuf;
use std::time::Duration;

use stoker_api::condition::Reason;
use stoker_api::gatewaysync::{Gateway, Git};
use stoker_api::names::SecretKey;
use stoker_api::word::{Interval, Transport};
use stoker_git::{Access, Auth, Limits, PlainHttp, ServerWords, auth};

use super::document::Documents;
use super::parse::{http_url, repo_url};
use super::secret::Secrets;
use super::secret_need::{self, SecretNeed};
use crate::arguments::{GatewayArguments, GivenBy, RepositoryArguments};
use crate::failure::Failure;
use git_auth::Facts;

pub(super) fn build(
    documents: &Documents,
    arguments: &RepositoryArguments,
    secrets: &mut Secrets,
) -> Result<Access, Failure> {
    let git = documents.gateway_sync().map(|sync| &sync.spec.git);
    let url = arguments.repo.as_deref().or(git.map(|git| git.repo.as_str()));
    let url = url.ok_or_else(|| {
        let hint = "add --repo https://host/plant.git, or -f gatewaysync.yaml";
        Failure::usage("no repository to sync").hint(hint)
    })?;
    let url = repo_url(url)?;
    let proxy = arguments.proxy.as_deref().or(git.and_then(|git| git.proxy.as_deref()));
    let proxy = proxy.map(|proxy| http_url("--proxy", proxy)).transpose()?;
    let timeout = arguments.timeout.unwrap_or_else(|| timeout(git));
    let is_insecure = arguments.allow_insecure_http
        || git.is_some_and(|git| git.allow_insecure_http == Some(true));
    let mut access = Access {
        url,
        auth: Auth::None,
        ca_file: None,
        proxy,
        plain_http: if is_insecure { PlainHttp::Allowed } else { PlainHttp::Refused },
        helper: own_program()?,
        limits: Limits::within(timeout),
        server_words: ServerWords::default(),
        addresses: Vec::new(),
    };
    access.ca_file = authorities(git, &access, arguments, secrets)?;
    access.auth = git_auth::decide(Facts { git, arguments, access: &access }, secrets)?;
    auth::check_fit(&access).map_err(|error| usage_of(&error, arguments))?;
    Ok(access)
}

/// Git calls this very program for credentials.
fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| {
        let failure = Failure::world(Reason::FetchFailed, &error);
        let message =
            format!("failed to find our own program, which git calls: {}", failure.message);
        Failure { message, ..failure }.hint("this needs /proc: mount -t proc proc /proc")
    })
}

/// The gateway's API key, if there is a gateway.
pub(super) fn api_key(
    documents: &Documents,
    arguments: &GatewayArguments,
    secrets: &mut Secrets,
) -> Result<Option<PathBuf>, Failure> {
    if arguments.gateway.is_none() {
        return Ok(None);
    }
    let given = arguments.api_key();
    let gateway = documents.gateway_sync().and_then(|sync| sync.spec.gateway.as_ref());
    let is_long = gateway.is_some_and(|gateway| gateway.api.is_none());
    let field = if is_long { "spec.gateway.apiKeySecretRef" } else { secret_need::API_KEY.field };
    let need = SecretNeed { field, ..secret_need::API_KEY };
    match gateway.and_then(Gateway::api_key) {
        Some(reference) => secrets.serve(&reference, given, need).map(Some),
        None => given.map(|given| Some(given.path.to_owned())).ok_or_else(no_api_key),
    }
}

fn authorities(
    git: Option<&Git>,
    access: &Access,
    arguments: &RepositoryArguments,
    secrets: &mut Secrets,
) -> Result<Option<PathBuf>, Failure> {
    let mut given = arguments.authorities();
    let mut reference = git.and_then(|git| git.ca_secret_ref.as_ref());
    if !matches!(access.url.transport(), Transport::Https | Transport::Http) {
        // As for credentials: another URL is the user's doing, and the environment may be about
        // another one.
        let of_file = reference.take_if(|_| arguments.repo.is_some());
        let ambient = given.take_if(|given| given.by == GivenBy::Environment);
        let names =
            [of_file.map(|_| secret_need::AUTHORITIES.field), ambient.map(|given| given.name)];
        for name in names.into_iter().flatten() {
            secrets.leave_aside(git_auth::misfit(name, &access.remote()));
        }
    }
    if let Some(flag) = given.filter(|given| given.by == GivenBy::Flag)
        && git_auth::is_elsewhere(git, access)
        && reference.take().is_some()
    {
        let field = secret_need::AUTHORITIES.field;
        secrets.leave_aside(format!("{field} is not used: {} takes its place", flag.name));
    }
    match reference.map(|reference| reference.resolve(SecretKey::Ca)) {
        Some(reference) => secrets.serve(&reference, given, secret_need::AUTHORITIES).map(Some),
        None => Ok(given.map(|given| given.path.to_owned())),
    }
}

fn timeout(git: Option<&Git>) -> Duration {
    let text = git.and_then(|git| git.timeout.as_deref());
    let interval = text.and_then(|text| Interval::parse(text).ok());
    interval.unwrap_or(Git::DEFAULT_TIMEOUT).as_duration()
}

/// A gateway that is named but can't be talked to.
pub(super) fn no_api_key() -> Failure {
    Failure::usage("--gateway needs an API key")
        .hint("add --api-key-file FILE with the key as name:secret")
}

fn usage_of(error: &auth::Error, arguments: &RepositoryArguments) -> Failure {
    let failure = Failure::usage(error.to_string());
    match error {
        auth::Error::PlainHttpApi { .. } => failure.hint(
            "use https:// in --github-api-url, or accept the risk with --allow-insecure-http",
        ),
        auth::Error::PlainHttp { .. } => failure.hint("use https://, or add --allow-insecure-http"),
        auth::Error::Missing { .. } => {
            failure.hint("add --ssh-key-file FILE --known-hosts-file FILE")
        }
        auth::Error::Mismatch { needed, .. } => {
            let given = git_auth::flags(arguments);
            let without = if given.is_empty() {
                String::new()
            } else {
                format!("leave out {}, ", given.join(" and "))
            };
            failure.hint(format!("{without}give {needed} for that URL, or use another URL"))
        }
        _ => failure,
    }
}
