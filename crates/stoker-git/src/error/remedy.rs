//! What a user can do about an error.

use std::path::Path;

use stoker_api::remedy::Remedy;
use stoker_api::word::SafeUrl;
use stoker_core::refs;
use stoker_sync::path::Quoted;

use super::Error;
use crate::auth::{self, github_app};
use crate::diagnosis::{Fault, Flaw};
use crate::store;

/// A step with values in it.
macro_rules! step {
    ($($words:tt)+) => { Remedy::step(format!($($words)+)) };
}

impl Error {
    /// Returns what a user can do about it, where there is something to do.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Credentials { source, remote } => of_credential(source, remote),
            Self::Resolve { source, remote } => Some(of_ref(source, remote)),
            Self::NotACommit { remote, .. } => Some(step!(
                "choose a branch, or a tag on a commit; list what is there: git ls-remote {remote}"
            )),
            Self::Store { source, .. } => Some(of_store(source)),
            Self::ListRefs { source, remote }
            | Self::FetchHistory { source, remote }
            | Self::FetchCommit { source, remote, .. }
            | Self::FetchFiles { source, remote, .. } => Some(of_fault(source, remote)),
        }
    }
}

fn of_credential(error: &auth::Error, remote: &SafeUrl) -> Option<Remedy> {
    Some(match error {
        auth::Error::Read { path, .. } | auth::Error::Empty { path, .. } => look_at(path),
        auth::Error::Malformed { path, .. } => {
            step!("count its lines without showing it: wc -lc {}", shown(path))
        }
        auth::Error::Encrypted { path } => {
            let path = shown(path);
            step!("give a key without a passphrase; this removes it: ssh-keygen -p -N '' -f {path}")
        }
        auth::Error::NoCertificate { path } => {
            let path = shown(path);
            step!(
                "give the CA's certificate as PEM: openssl x509 -inform der -in {path} -out ca.pem"
            )
        }
        auth::Error::Mismatch { .. } if remote.is_web() => Remedy::GiveToken,
        auth::Error::Missing { .. } | auth::Error::Mismatch { .. } => Remedy::GiveSshKey,
        auth::Error::PlainHttp { .. } => Remedy::UseHttps,
        auth::Error::PlainHttpApi { .. } => Remedy::UseHttpsForApi,
        auth::Error::GithubApp { api, key, source } => of_app(source, api, key),
        auth::Error::Memory { .. } => return None,
    })
}

fn of_app(error: &github_app::Error, api: &SafeUrl, key: &Path) -> Remedy {
    use github_app::Error as App;
    match error {
        App::Key { source } => match &**source {
            auth::Error::Malformed { .. } => look_into(key),
            _ => look_at(key),
        },
        App::MalformedKey => look_into(key),
        App::Certificates { .. } => Remedy::GiveCaAsPem,
        App::PlainHttp => Remedy::UseHttpsForApi,
        App::Unreachable { source: stoker_http::Error::Untrusted(_) } => Remedy::GiveCa,
        App::Unreachable { .. } | App::Address(_) | App::TimedOut => {
            step!("try the same by hand: curl -I {api}")
        }
        App::Refused { status: 401 } => Remedy::CheckApp,
        App::Refused { status: 404 } => Remedy::CheckInstallation { api: api.clone() },
        App::Refused { status: 403 | 422 } => {
            Remedy::step("let the App read contents, and install it on this repository")
        }
        App::Refused { .. } => step!("try again later; see whether the API is up: curl -I {api}"),
        App::Malformed => Remedy::CheckApi { api: api.clone() },
        App::Cancelled => Remedy::step("run the same command again"),
        App::Run { .. } => Remedy::step("see what this user may start: ulimit -a"),
    }
}

fn look_at(path: &Path) -> Remedy {
    step!("check the file: ls -l {}", shown(path))
}

/// The first line of a key names its kind, and is not secret.
fn look_into(path: &Path) -> Remedy {
    step!("it should begin with -----BEGIN RSA PRIVATE KEY-----: head -n 1 {}", shown(path))
}

fn shown(path: &Path) -> Quoted<'_> {
    Quoted(path.as_os_str().as_encoded_bytes())
}

fn of_ref(error: &refs::Error, remote: &SafeUrl) -> Remedy {
    match error {
        refs::Error::NoVersion { .. } => step!("list the tags: git ls-remote --tags {remote}"),
        refs::Error::Unreachable { .. } => Remedy::AllowUnreachable,
        refs::Error::Empty { .. } => {
            step!("push a branch first, or check the URL: git ls-remote {remote}")
        }
        refs::Error::TooShort { .. } => {
            step!("give at least 7 digits of the id; list what is there: git ls-remote {remote}")
        }
        refs::Error::Ambiguous { .. } => Remedy::step("give more digits of the commit's id"),
        refs::Error::Range { .. } | refs::Error::NotFound { .. } => {
            step!("list what is there: git ls-remote {remote}")
        }
    }
}

fn of_fault(fault: &Fault, remote: &SafeUrl) -> Remedy {
    match fault {
        Fault::Authentication { .. } | Fault::NotFound { .. } => {
            step!("check the URL and the credentials: git ls-remote {remote}")
        }
        Fault::CredentialsNeeded { .. } => Remedy::GiveCredential,
        Fault::NoTls => Remedy::step(
            "use the port that serves https, or http:// if that is what the server speaks",
        ),
        Fault::HostKey => Remedy::step(
            "compare the server's key with a trusted one: ssh-keyscan HOST, then add it to the \
             known hosts file",
        ),
        Fault::Tls { flaw, .. } => of_certificate(*flaw),
        Fault::Proxy { proxy, .. } => {
            Remedy::CheckProxy { proxy: proxy.clone(), remote: remote.clone() }
        }
        Fault::Unreachable { .. }
        | Fault::Server { .. }
        | Fault::Damaged
        | Fault::Store
        | Fault::Other { .. } => step!("try the same by hand: git ls-remote {remote}"),
        Fault::ServerCorrupt => Remedy::step(
            "repair the repository on the server, where `git fsck --full` finds what is damaged",
        ),
        Fault::NotGit => step!(
            "check the URL and whether it needs credentials; this shows what it serves: curl -sSL {remote}"
        ),
        Fault::ObjectFormat => Remedy::step(
            "use a repository with SHA-1 ids: git init --object-format=sha1 creates one",
        ),
        Fault::Redirected { to } => {
            step!("if that is right, use the URL that the repository has on {to}")
        }
        Fault::DubiousOwnership { path, .. } => {
            step!("if you trust it: git config --global --add safe.directory {path}")
        }
        Fault::TimedOut { .. } | Fault::Stalled => Remedy::AllowMoreTime,
        Fault::NotInstalled { program } => {
            step!("install {program}: apt-get install {}", package(program))
        }
        Fault::GitTooOld => Remedy::step("see the version: git --version"),
        Fault::NoPasswdEntry => Remedy::step(
            "install libnss-wrapper, use https:// with a token, or run as a user that exists",
        ),
        Fault::StoreFull { .. } => Remedy::RaiseStoreLimit,
        Fault::DiskFull => Remedy::MakeRoomForStore,
        Fault::NotOurRef => {
            step!("check the commit's id; list what is there: git ls-remote {remote}")
        }
        Fault::TooLarge { .. } => step!("check that it is the right repository: {remote}"),
        Fault::Cancelled => Remedy::step("run the same command again"),
    }
}

fn of_certificate(flaw: Flaw) -> Remedy {
    match flaw {
        Flaw::Untrusted => Remedy::GiveCa,
        Flaw::OtherHost => {
            Remedy::step("use the host name that the certificate is for; a CA does not fix that")
        }
        Flaw::OutOfDate => {
            Remedy::step("renew the server's certificate, or set this machine's clock: date -u")
        }
    }
}

fn of_store(error: &store::Error) -> Remedy {
    use store::Error as Store;
    match error {
        Store::Disk { path, .. } => step!("check it: ls -ld {}", path.display()),
        Store::Locked { .. } => Remedy::WaitForStore,
        Store::Foreign { .. } => Remedy::UseEmptyStore,
        Store::NotOurs { path } => Remedy::CheckStore { path: shown(path).to_string() },
        Store::Read { source: Fault::Other { .. } } => {
            Remedy::step("run it again; if that does not help, see whether there is memory enough")
        }
        Store::Read { .. } | Store::Missing { .. } | Store::Damaged { .. } | Store::Torn { .. } => {
            Remedy::RebuildStore
        }
        Store::NotACommit { commit } => step!("see what it is: git cat-file -t {commit}"),
        Store::TreeTooLarge { id, .. } => step!("list it: git ls-tree {id}"),
        Store::Cancelled => Remedy::step("run the same command again"),
    }
}

fn package(program: &str) -> &str {
    if program == "ssh" { "openssh-client" } else { "git" }
}
