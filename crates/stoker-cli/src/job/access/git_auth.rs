//! Chooses the git credential: from the file, from flags, or from the environment.
//!
//! A flag for the file's method supplies the file's reference; a flag for another method replaces
//! the file's. The environment is used if neither gives a method that fits the URL.

use std::path::PathBuf;
use std::sync::Arc;

use stoker_api::gatewaysync::{Auth as GitAuth, AuthMethod, Git, GithubApp};
use stoker_api::word::{SafeUrl, Transport};
use stoker_git::auth::{self, github_app};
use stoker_git::{Access, Auth};

use crate::arguments::{Given, GivenBy, RepositoryArguments};
use crate::failure::Failure;
use crate::job::parse::{http_url, user};
use crate::job::secret::Secrets;
use crate::job::secret_need;

/// A method of authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Token,
    SshKey,
    App,
}

/// What the choice of a credential depends on.
#[derive(Clone, Copy)]
pub(super) struct Facts<'a> {
    /// What the file says.
    pub(super) git: Option<&'a Git>,
    /// What the command line says.
    pub(super) arguments: &'a RepositoryArguments,
    /// What the choice depends on.
    pub(super) access: &'a Access,
}

impl Method {
    const ALL: [Self; 3] = [Self::Token, Self::SshKey, Self::App];

    fn of(method: &AuthMethod<'_>) -> Self {
        match method {
            AuthMethod::Token { .. } => Self::Token,
            AuthMethod::SshKey { .. } => Self::SshKey,
            AuthMethod::GithubApp { .. } => Self::App,
        }
    }

    fn field(self) -> &'static str {
        match self {
            Self::Token => "spec.git.auth.token",
            Self::SshKey => "spec.git.auth.sshKey",
            Self::App => "spec.git.auth.githubApp",
        }
    }

    fn fits(self, transport: Transport) -> bool {
        match self {
            Self::Token | Self::App => matches!(transport, Transport::Https | Transport::Http),
            Self::SshKey => transport == Transport::Ssh,
        }
    }

    /// The file of its flag or its variable.
    fn file(self, arguments: &RepositoryArguments) -> Option<Given<'_>> {
        match self {
            Self::Token => arguments.token(),
            Self::SshKey => arguments.ssh_key(),
            Self::App => arguments.app_key(),
        }
    }
}

pub(super) fn decide(facts: Facts<'_>, secrets: &mut Secrets) -> Result<Auth, Failure> {
    let Facts { git, arguments, access } = facts;
    let method = git.and_then(|git| git.auth.as_ref()).and_then(GitAuth::method);
    let of_file = method.as_ref().map(Method::of);
    if let Some((way, flag)) = by_flag(arguments, of_file)? {
        // The key of an App that flags name is not another App's, and what is given together with
        // another server is for that one.
        let is_named = arguments.github_app_id.is_some();
        let is_other = is_named || of_file != Some(way) || is_elsewhere(git, access);
        if let (Some(method), false) = (&method, is_other) {
            return from_file(method, facts, secrets);
        }
        if let Some(left) = of_file.map(Method::field) {
            secrets.leave_aside(format!("{left} is not used: {flag} takes its place"));
        }
        return from_arguments(way, facts);
    }
    if let Some(method) = &method {
        let way = Method::of(method);
        // A file that does not fit its own URL is wrong; another URL is the user's doing.
        let is_misfit = arguments.repo.is_some() && !way.fits(access.url.transport());
        match other_host(git, access) {
            _ if is_misfit => secrets.leave_aside(misfit(way.field(), &access.remote())),
            Some(host) => {
                let (field, remote) = (way.field(), access.remote());
                secrets.leave_aside(format!(
                    "{field} is not used: it is for {host}, and {remote} is on another host"
                ));
            }
            None => return from_file(method, facts, secrets),
        }
    }
    from_environment(facts, secrets)
}

/// The host of the file's repository, if the repository of the command line is on another one.
fn other_host<'a>(git: Option<&'a Git>, access: &Access) -> Option<&'a str> {
    let of_file = host(&git?.repo);
    (!of_file.eq_ignore_ascii_case(host(access.url.as_str()))).then_some(of_file)
}

/// The host in a URL, without user and port.
fn host(url: &str) -> &str {
    let server = server(url);
    let address = server.split_once("://").map_or(server, |(_, address)| address);
    let address = address.rsplit_once('@').map_or(address, |(_, address)| address);
    match address.split_once(']') {
        Some((bracketed, _)) => bracketed.trim_start_matches('['),
        None => address.split(':').next().unwrap_or_default(),
    }
}

/// Whether the repository is on another server than the file's.
pub(super) fn is_elsewhere(git: Option<&Git>, access: &Access) -> bool {
    git.is_some_and(|git| server(&git.repo) != server(access.url.as_str()))
}

/// A URL without its path.
fn server(url: &str) -> &str {
    let (scheme, end) = url.find("://").map_or((0, ':'), |at| (at + 3, '/'));
    let address = &url[scheme..];
    &url[..scheme + address.find(end).unwrap_or(address.len())]
}

/// The flags that say who we are, for this run.
pub(super) fn flags(arguments: &RepositoryArguments) -> Vec<&'static str> {
    given(arguments, GivenBy::Flag).into_iter().map(|(_, given)| given.name).collect()
}

fn given(arguments: &RepositoryArguments, by: GivenBy) -> Vec<(Method, Given<'_>)> {
    let all = Method::ALL.into_iter().filter_map(|way| Some((way, way.file(arguments)?)));
    all.filter(|(_, given)| given.by == by).collect()
}

fn by_flag(
    arguments: &RepositoryArguments,
    of_file: Option<Method>,
) -> Result<Option<(Method, &'static str)>, Failure> {
    let given = given(arguments, GivenBy::Flag);
    if given.len() > 1 {
        let names = flags(arguments).join(" and ");
        return Err(Failure::usage(format!("{names} exclude each other"))
            .hint(format!("keep one of {names}")));
    }
    let Some((way, given)) = given.first() else { return Ok(None) };
    if *way == Method::App && arguments.github_app_id.is_none() && of_file != Some(Method::App) {
        return Err(Failure::usage("--github-key-file is the key of no App that is named")
            .hint("add --github-app-id ID --github-installation-id ID"));
    }
    Ok(Some((*way, given.name)))
}

/// The method of the file, its references served.
fn from_file(
    method: &AuthMethod<'_>,
    facts: Facts<'_>,
    secrets: &mut Secrets,
) -> Result<Auth, Failure> {
    let arguments = facts.arguments;
    match method {
        AuthMethod::Token { token, username } => {
            let username = match &arguments.username {
                Some(by_flag) => user("--username", by_flag)?,
                None => user("spec.git.auth.token.username", username)?,
            };
            let file = secrets.serve(token, arguments.token(), secret_need::TOKEN)?;
            Ok(Auth::Token { file, username })
        }
        AuthMethod::SshKey { key, known_hosts } => {
            let key = secrets.serve(key, arguments.ssh_key(), secret_need::SSH_KEY)?;
            let given = arguments.known_hosts();
            let known_hosts = match known_hosts {
                Some(reference) => secrets.serve(reference, given, secret_need::KNOWN_HOSTS)?,
                None => given.ok_or_else(no_known_hosts)?.path.to_owned(),
            };
            Ok(Auth::SshKey { key, known_hosts })
        }
        AuthMethod::GithubApp { app, key } => {
            let key = secrets.serve(key, arguments.app_key(), secret_need::APP_KEY)?;
            let api = app.api_base_url.as_deref().unwrap_or(GithubApp::DEFAULT_API);
            app_auth(app.app_id, app.installation_id, key, api, facts.access)
        }
    }
}

/// A method that flags or the environment give, without the file.
fn from_arguments(way: Method, facts: Facts<'_>) -> Result<Auth, Failure> {
    let arguments = facts.arguments;
    let Some(given) = way.file(arguments) else { return Ok(Auth::None) };
    let file = given.path.to_owned();
    match way {
        Method::Token => {
            let username = arguments.username.as_deref().unwrap_or(auth::DEFAULT_USERNAME);
            let username = user("--username", username)?;
            Ok(Auth::Token { file, username })
        }
        Method::SshKey => {
            let known_hosts = arguments.known_hosts().ok_or_else(no_known_hosts)?;
            Ok(Auth::SshKey { key: file, known_hosts: known_hosts.path.to_owned() })
        }
        Method::App => {
            let ids = arguments.github_app_id.zip(arguments.github_installation_id);
            let Some((app, installation)) = ids else { return Ok(Auth::None) };
            let api = arguments.github_api_url.as_deref().unwrap_or(GithubApp::DEFAULT_API);
            app_auth(app, installation, file, api, facts.access)
        }
    }
}

/// What the environment gives, if the URL can take it.
fn from_environment(facts: Facts<'_>, secrets: &mut Secrets) -> Result<Auth, Failure> {
    let access = facts.access;
    let given = given(facts.arguments, GivenBy::Environment);
    let fitting = given.iter().find(|(way, _)| way.fits(access.url.transport()));
    let Some((way, fitting)) = fitting else {
        for (_, given) in given {
            secrets.leave_aside(misfit(given.name, &access.remote()));
        }
        return Ok(Auth::None);
    };
    let auth = from_arguments(*way, facts)?;
    match auth::check_fit(&Access { auth: auth.clone(), ..access.clone() }) {
        Ok(()) => Ok(auth),
        Err(error) => {
            secrets.leave_aside(format!("{} is not used: {error}", fitting.name));
            Ok(Auth::None)
        }
    }
}

/// Why something is left aside.
pub(super) fn misfit(name: &str, remote: &SafeUrl) -> String {
    format!("{name} is not used: it does not fit {remote}")
}

fn app_auth(
    app: i64,
    installation: i64,
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
        addresses: Vec::new(),
        plain_http: access.plain_http,
        timeout: access.limits.timeout,
    };
    Ok(Auth::GithubApp(Arc::new(github_app::GithubApp::new(settings))))
}

fn no_known_hosts() -> Failure {
    Failure::usage("an SSH key needs known hosts: without them the server can't be verified")
        .hint("ssh-keyscan HOST > known_hosts, check it, and add --known-hosts-file known_hosts")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_no_user_and_no_port() {
        for (url, name) in [
            ("https://git.example:8443/a/b", "git.example"),
            ("http://[::1]:3000/plant", "::1"),
            ("ssh://git@git.example:22/a", "git.example"),
            ("git@git.example:a/b", "git.example"),
            ("file:///srv/plant", ""),
        ] {
            assert_eq!(host(url), name);
        }
    }

    #[test]
    fn a_server_is_a_scheme_a_host_and_a_port() {
        for (url, place) in [
            ("https://git.example/plant.git", "https://git.example"),
            ("https://git.example:8443/a/b", "https://git.example:8443"),
            ("http://[::1]:3000/plant", "http://[::1]:3000"),
            ("ssh://git@git.example:22/a", "ssh://git@git.example:22"),
            ("git@git.example:a/b", "git@git.example"),
            ("file:///srv/plant", "file://"),
        ] {
            assert_eq!(server(url), place);
        }
    }
}
