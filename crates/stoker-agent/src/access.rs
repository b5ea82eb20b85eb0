//! From the announced repository and the mounted files to the way to it.

use stoker_api::condition::Reason;
use stoker_api::contract::env::Env;
use stoker_api::contract::metadata::AuthType;
use stoker_git::memfile::MemFile;
use stoker_git::{Access, Auth, Limits, PlainHttp, auth};

use crate::args::Environment;
use crate::goal::Remote;

/// The way to a repository, and the files in memory that it needs.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) access: Access,
    /// The path in `access` ends with it.
    _known_hosts: Option<MemFile>,
}

/// Why the repository can not be accessed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(
        "the GatewaySync authenticates by {auth}, and this pod was injected without {variable}; \
         recreate the pod"
    )]
    NotMounted { auth: AuthType, variable: Env },
    #[error(
        "there are no host keys to verify the git server against: the controller publishes them \
         when it has reached the server, or set spec.git.auth.sshKey.knownHosts"
    )]
    NoKnownHosts,
    #[error("failed to find this program's own file")]
    Program(#[source] std::io::Error),
    #[error("failed to keep the host keys in memory")]
    Memory(#[source] std::io::Error),
}

impl Error {
    /// Returns the reason for the report.
    pub(crate) fn reason(&self) -> Reason {
        match self {
            Self::NotMounted { .. } => Reason::RestartNeeded,
            Self::NoKnownHosts => Reason::AuthenticationFailed,
            Self::Program(_) | Self::Memory(_) => Reason::FetchFailed,
        }
    }
}

/// Builds the way to a repository.
pub(crate) fn build(remote: &Remote, environment: &Environment) -> Result<Route, Error> {
    let mut known_hosts = None;
    let auth = match remote.auth {
        AuthType::None => Auth::None,
        AuthType::Token | AuthType::GithubApp => {
            let file = environment.token_file.clone();
            let username = remote.username.clone();
            Auth::Token {
                file: file.ok_or(missing(remote, Env::GitTokenFile))?,
                username: username.unwrap_or_else(|| auth::DEFAULT_USERNAME.to_owned()),
            }
        }
        AuthType::SshKey => {
            let key = environment.ssh_key_file.clone();
            let key = key.ok_or(missing(remote, Env::GitSshKeyFile))?;
            let given = environment.known_hosts_file.clone();
            let known_hosts = match (given, &remote.known_hosts) {
                (Some(file), _) => file,
                (None, Some(keys)) => {
                    let file = MemFile::new(keys.as_bytes()).map_err(Error::Memory)?;
                    known_hosts.insert(file).path()
                }
                (None, None) => return Err(Error::NoKnownHosts),
            };
            Auth::SshKey { key, known_hosts }
        }
    };
    let helper = std::env::current_exe().map_err(Error::Program)?;
    let plain_http =
        if remote.allow_insecure_http { PlainHttp::Allowed } else { PlainHttp::Refused };
    let access = Access {
        url: remote.url.clone(),
        auth,
        ca_file: environment.ca_file.clone(),
        proxy: remote.proxy.clone(),
        plain_http,
        helper,
        limits: Limits::within(remote.timeout.as_duration()),
        addresses: Vec::new(),
        server_words: stoker_git::ServerWords::default(),
    };
    Ok(Route { access, _known_hosts: known_hosts })
}

fn missing(remote: &Remote, variable: Env) -> Error {
    Error::NotMounted { auth: remote.auth, variable }
}
