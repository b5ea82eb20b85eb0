//! How the repository and the gateway are reached: flags before file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use stoker_api::gatewaysync::{Auth as GitAuth, AuthMethod, Git, GithubApp};
use stoker_api::names::SecretKey;
use stoker_api::word::Interval;
use stoker_git::auth::github_app;
use stoker_git::{Access, Auth, Limits, PlainHttp, auth};

use super::document::Documents;
use super::secret::{Need, Secrets};
use super::text::{http_url, repo_url, user};
use crate::arguments::{GatewayArguments, RepositoryArguments};
use crate::failure::Failure;

const TOKEN: Need = Need { field: "spec.git.auth.token.secretRef", flag: "--token-file" };
const SSH_KEY: Need = Need { field: "spec.git.auth.sshKey.secretRef", flag: "--ssh-key-file" };
const KNOWN_HOSTS: Need =
    Need { field: "spec.git.auth.sshKey.knownHosts.secretRef", flag: "--known-hosts-file" };
const APP_KEY: Need =
    Need { field: "spec.git.auth.githubApp.privateKeySecretRef", flag: "--github-key-file" };
const AUTHORITIES: Need = Need { field: "spec.git.caSecretRef", flag: "--ca-file" };
const API_KEY: Need = Need { field: "spec.gateway.api", flag: "--api-key-file" };

/// The repository.
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
    let ca_file = authorities(git, arguments, secrets)?;
    let timeout = arguments.timeout.unwrap_or_else(|| timeout(git));
    let is_insecure = arguments.allow_insecure_http
        || git.is_some_and(|git| git.allow_insecure_http == Some(true));
    let mut access = Access {
        url,
        auth: Auth::None,
        ca_file,
        proxy,
        plain_http: if is_insecure { PlainHttp::Allowed } else { PlainHttp::Refused },
        helper: std::env::current_exe().unwrap_or_default(),
        limits: Limits::within(timeout),
    };
    access.auth = authentication(git, arguments, (secrets, &access))?;
    auth::check_fit(&access).map_err(|error| usage_of(&error, arguments))?;
    Ok(access)
}

/// The gateway's key: only where a gateway is to be told at all.
pub(super) fn api_key(
    documents: &Documents,
    arguments: &GatewayArguments,
    secrets: &mut Secrets,
) -> Result<Option<PathBuf>, Failure> {
    if arguments.gateway.is_none() || arguments.api_key_file.is_some() {
        return Ok(arguments.api_key_file.clone());
    }
    let gateway = documents.gateway_sync().and_then(|sync| sync.spec.gateway.as_ref());
    let Some(reference) = gateway.and_then(stoker_api::gatewaysync::Gateway::api_key) else {
        return Err(no_api_key());
    };
    secrets.serve(&reference, None, API_KEY).map(Some)
}

fn authentication(
    git: Option<&Git>,
    arguments: &RepositoryArguments,
    (secrets, access): (&mut Secrets, &Access),
) -> Result<Auth, Failure> {
    if let Some(auth) = by_flags(arguments, access)? {
        return Ok(auth);
    }
    let method = git.and_then(|git| git.auth.as_ref()).and_then(GitAuth::method);
    let is_app = matches!(method, Some(AuthMethod::GithubApp { .. }));
    if arguments.github_key_file.is_some() && !is_app {
        return Err(Failure::usage("--github-key-file is the key of no App that is named")
            .hint("add --github-app-id ID --github-installation-id ID"));
    }
    match method {
        None => Ok(Auth::None),
        Some(AuthMethod::Token { token, username }) => {
            let username = match &arguments.username {
                Some(by_flag) => user("--username", by_flag)?,
                None => user("spec.git.auth.token.username", username)?,
            };
            let file = secrets.serve(&token, arguments.token_file.as_ref(), TOKEN)?;
            Ok(Auth::Token { file, username })
        }
        Some(AuthMethod::SshKey { key, known_hosts }) => {
            let key = secrets.serve(&key, arguments.ssh_key_file.as_ref(), SSH_KEY)?;
            let by_flag = arguments.known_hosts_file.as_ref();
            let known_hosts = match (known_hosts, by_flag) {
                (Some(reference), _) => secrets.serve(&reference, by_flag, KNOWN_HOSTS)?,
                (None, Some(path)) => path.clone(),
                (None, None) => return Err(no_known_hosts()),
            };
            Ok(Auth::SshKey { key, known_hosts })
        }
        Some(AuthMethod::GithubApp { app, key }) => {
            let key = secrets.serve(&key, arguments.github_key_file.as_ref(), APP_KEY)?;
            let api = app.api_base_url.as_deref().unwrap_or(GithubApp::DEFAULT_API);
            app_auth((app.app_id, app.installation_id), key, api, access)
        }
    }
}

/// The flags or variables that credentials come by.
fn given(arguments: &RepositoryArguments) -> Vec<&'static str> {
    let methods = [
        ("--token-file", "GIT_TOKEN_FILE", &arguments.token_file),
        ("--ssh-key-file", "GIT_SSH_KEY_FILE", &arguments.ssh_key_file),
        ("--github-key-file", "", &arguments.github_key_file),
    ];
    let name = |(flag, variable, file): (_, _, &Option<PathBuf>)| {
        Some(named(flag, variable, file.as_ref()?))
    };
    methods.into_iter().filter_map(name).collect()
}

fn by_flags(arguments: &RepositoryArguments, access: &Access) -> Result<Option<Auth>, Failure> {
    let given = given(arguments);
    if given.len() > 1 {
        let hint = format!("keep one of {}", given.join(" and "));
        return Err(
            Failure::usage(format!("{} exclude each other", given.join(" and "))).hint(hint)
        );
    }
    if let Some(file) = &arguments.token_file {
        let username = arguments.username.as_deref().unwrap_or(auth::DEFAULT_USERNAME);
        let username = user("--username", username)?;
        return Ok(Some(Auth::Token { file: file.clone(), username }));
    }
    if let Some(key) = &arguments.ssh_key_file {
        let known_hosts = arguments.known_hosts_file.clone().ok_or_else(no_known_hosts)?;
        return Ok(Some(Auth::SshKey { key: key.clone(), known_hosts }));
    }
    let ids = arguments.github_app_id.zip(arguments.github_installation_id);
    let (Some(ids), Some(key)) = (ids, &arguments.github_key_file) else { return Ok(None) };
    let api = arguments.github_api_url.as_deref().unwrap_or(GithubApp::DEFAULT_API);
    app_auth(ids, key.clone(), api, access).map(Some)
}

/// What a value came by: the variable, if that holds it.
fn named(flag: &'static str, variable: &'static str, value: &Path) -> &'static str {
    let is_variable = std::env::var_os(variable).is_some_and(|held| held == value);
    if is_variable { variable } else { flag }
}

fn app_auth(
    (app, installation): (i64, i64),
    key_file: PathBuf,
    api: &str,
    access: &Access,
) -> Result<Auth, Failure> {
    let installation_id = u64::try_from(installation)
        .map_err(|_| Failure::usage("--github-installation-id: must be positive"))?;
    let path = access.url.as_str().trim_end_matches('/');
    let repository = path.rsplit(['/', ':']).next();
    let settings = github_app::Settings {
        app_id: app.to_string(),
        installation_id,
        key_file,
        api: http_url("--github-api-url", api)?,
        repository: repository.map(|name| name.trim_end_matches(".git").to_owned()),
        ca_file: access.ca_file.clone(),
        proxy: access.proxy.clone(),
        plain_http: access.plain_http,
        timeout: Duration::from_secs(30),
    };
    Ok(Auth::GithubApp(Arc::new(github_app::GithubApp::new(settings))))
}

fn authorities(
    git: Option<&Git>,
    arguments: &RepositoryArguments,
    secrets: &mut Secrets,
) -> Result<Option<PathBuf>, Failure> {
    let reference = git.and_then(|git| git.ca_secret_ref.as_ref());
    let reference = reference.map(|reference| reference.resolve(SecretKey::Ca));
    match reference {
        Some(reference) => {
            secrets.serve(&reference, arguments.ca_file.as_ref(), AUTHORITIES).map(Some)
        }
        None => Ok(arguments.ca_file.clone()),
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

fn no_known_hosts() -> Failure {
    Failure::usage("an SSH key without known hosts: the server could be anyone")
        .hint("ssh-keyscan HOST > known_hosts, check it, and add --known-hosts-file known_hosts")
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
            let given = given(arguments);
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
