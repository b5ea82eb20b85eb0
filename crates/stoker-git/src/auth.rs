//! The credential for a git server, and how it reaches git unseen by other processes.
//!
//! # Promises
//!
//! No credential is ever in an argument, an environment variable, a config file, a URL, a file of
//! ours or a message. Git asks our own program ([`crate::helper`]) for a password, and that reads
//! the file; keys for ssh are in memory during one operation. Every operation reads the files
//! again, so that a rotated credential is used at once.

pub mod askpass;
mod content;
pub mod github_app;
mod passwd;
pub mod ssh;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stoker_api::word::{SafeUrl, Secret, Transport};
use stoker_sync::input_file;

use crate::Cancel;
use crate::access::{Access, PlainHttp};
use crate::memfile::MemFile;
pub use content::Content;
use github_app::GithubApp;

/// The user name that forges expect beside a token.
pub const DEFAULT_USERNAME: &str = "x-access-token";

/// The longest file that is read: keys and tokens are far shorter, bundles of certificates are not.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The credential for a git server.
#[derive(Debug, Clone)]
pub enum Auth {
    /// No credential: the repository is public.
    None,
    /// A token or a password.
    Token {
        /// The file that holds it, in one line.
        file: PathBuf,
        /// The user name to give with it.
        username: String,
    },
    /// An SSH key.
    SshKey {
        /// The file with the private key, without a passphrase.
        key: PathBuf,
        /// The host keys to trust, as in `known_hosts`. Trusting any host key is not possible.
        known_hosts: PathBuf,
    },
    /// A GitHub App, whose key is exchanged for short-lived tokens.
    GithubApp(Arc<GithubApp>),
}

/// Why credentials can't be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("failed to read the {what} {path:?}")]
    Read { what: &'static str, path: PathBuf, source: io::Error },
    #[error("the {what} {path:?} is empty")]
    Empty { what: &'static str, path: PathBuf },
    /// A file holds what can't be a credential.
    #[error("the {what} {path:?} {fault}")]
    Malformed { what: &'static str, path: PathBuf, fault: &'static str },
    #[error("the SSH key {path:?} is encrypted with a passphrase, which Stoker can't ask for")]
    Encrypted { path: PathBuf },
    #[error("the CA file {path:?} holds no certificate in PEM form")]
    NoCertificate { path: PathBuf },
    #[error("{given} can't be used with {remote}, which needs {needed}")]
    Mismatch { given: &'static str, needed: &'static str, remote: SafeUrl },
    #[error("{remote} needs {needed}, and none was given")]
    Missing { needed: &'static str, remote: SafeUrl },
    #[error("credentials over http:// to {remote} would be readable on the way")]
    PlainHttp { remote: SafeUrl },
    #[error("credentials over http:// to the GitHub API {api} would be readable on the way")]
    PlainHttpApi { api: SafeUrl },
    #[error("failed to get a token for the GitHub App from {api} with the key {key:?}")]
    GithubApp { api: SafeUrl, key: PathBuf, source: github_app::Error },
    #[error("failed to keep a credential in memory")]
    Memory { source: io::Error },
}

/// What one operation hands to git: names of files, and the files in memory behind them.
#[derive(Debug, Default)]
pub(crate) struct Granted {
    pub(crate) environment: Vec<(&'static str, std::ffi::OsString)>,
    /// Kept until the operation is over: the paths in the environment end with them.
    pub(crate) _held: Vec<MemFile>,
}

/// Reads the credentials for one operation and checks that they fit the URL.
pub(crate) fn grant(access: &Access, cancel: &Cancel) -> Result<Granted, Error> {
    check_fit(access)?;
    match &access.auth {
        Auth::None => Ok(Granted::default()),
        Auth::Token { file, username } => {
            read_line("token file", file)?;
            Ok(askpass::grant(access, &absolute(file), username, Vec::new()))
        }
        Auth::GithubApp(app) => {
            let (api, key) = app.named();
            let token = app.token(cancel);
            let token = token.map_err(|source| Error::GithubApp { api, key, source })?;
            let file = hold(token.reveal())?;
            Ok(askpass::grant(access, &file.path(), DEFAULT_USERNAME, vec![file]))
        }
        Auth::SshKey { key, known_hosts } => ssh::grant(access, key, known_hosts),
    }
}

/// Checks that the credentials fit the URL, before anything is contacted.
pub fn check_fit(access: &Access) -> Result<(), Error> {
    let transport = access.url.transport();
    let mismatch = |given, needed| Error::Mismatch { given, needed, remote: access.remote() };
    let needed = match transport {
        Transport::Ssh => "an SSH key",
        Transport::Https | Transport::Http => "a token or a GitHub App",
        Transport::Git | Transport::File => "no credentials",
    };
    match (&access.auth, transport) {
        (Auth::GithubApp(app), _) if app.is_exposed() => {
            Err(Error::PlainHttpApi { api: app.named().0 })
        }
        (Auth::None, Transport::Ssh) => Err(Error::Missing { needed, remote: access.remote() }),
        (Auth::None, _)
        | (Auth::SshKey { .. }, Transport::Ssh)
        | (Auth::Token { .. } | Auth::GithubApp(_), Transport::Https) => Ok(()),
        (Auth::SshKey { .. }, _) => Err(mismatch("an SSH key", needed)),
        (Auth::Token { .. } | Auth::GithubApp(_), Transport::Http) => {
            let fine = access.stays_here() || access.plain_http == PlainHttp::Allowed;
            if fine { Ok(()) } else { Err(Error::PlainHttp { remote: access.remote() }) }
        }
        (Auth::Token { .. }, _) => Err(mismatch("a token", needed)),
        (Auth::GithubApp(_), _) => Err(mismatch("a GitHub App", needed)),
    }
}

/// Reads a credential; one trailing newline is dropped.
pub(crate) fn read(what: &'static str, path: &Path) -> Result<Secret, Error> {
    let content = input_file::read(path, MAX_BYTES).map_err(|source| match source.kind() {
        io::ErrorKind::FileTooLarge => {
            Error::Malformed { what, path: path.into(), fault: "is too long" }
        }
        _ => Error::Read { what, path: path.into(), source },
    })?;
    let secret = Secret::from_file(content);
    if secret.is_empty() { Err(Error::Empty { what, path: path.into() }) } else { Ok(secret) }
}

/// Reads certificates: for a file without any, git would report that the server is not trusted.
pub(crate) fn check_certificates(path: &Path) -> Result<(), Error> {
    let pem = read("CA file", path)?;
    let begin = b"-----BEGIN CERTIFICATE-----";
    let trusted = b"-----BEGIN TRUSTED CERTIFICATE-----";
    let holds = |words: &[u8]| pem.reveal().windows(words.len()).any(|window| window == words);
    let is_there = holds(begin) || holds(trusted);
    if is_there { Ok(()) } else { Err(Error::NoCertificate { path: path.into() }) }
}

/// Reads a credential that git passes on as one line.
pub(crate) fn read_line(what: &'static str, path: &Path) -> Result<Secret, Error> {
    let secret = read(what, path)?;
    if secret.reveal().iter().any(|byte| matches!(byte, b'\n' | b'\r' | 0)) {
        let fault = "holds more than one line";
        return Err(Error::Malformed { what, path: path.into(), fault });
    }
    Ok(secret)
}

fn hold(content: &[u8]) -> Result<MemFile, Error> {
    MemFile::new(content).map_err(|source| Error::Memory { source })
}

/// Git runs in another directory, so a relative path is made absolute.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests;
