//! What to do next after an error: one line, where possible a command to paste.

use std::path::Path;

use stoker_api::word::SafeUrl;
use stoker_core::refs;
use stoker_sync::path::Quoted;

use super::Error;
use crate::auth::{self, github_app};
use crate::diagnosis::{Fault, Flaw};

impl Error {
    /// Returns what to do next, in one line, where there is something to do.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Credentials { source, remote } => credential_hint(source, remote),
            Self::Resolve { source, remote } => Some(resolve_hint(source, remote)),
            Self::NotACommit { remote, .. } => Some(format!(
                "choose a branch, or a tag on a commit; list what is there: git ls-remote {remote}"
            )),
            Self::Store { source, .. } => Some(source.hint()),
            Self::ListRefs { source, remote }
            | Self::FetchHistory { source, remote }
            | Self::FetchCommit { source, remote, .. }
            | Self::FetchFiles { source, remote, .. } => Some(fault_hint(source, remote)),
        }
    }
}

fn credential_hint(error: &auth::Error, remote: &SafeUrl) -> Option<String> {
    Some(match error {
        auth::Error::Read { path, .. } | auth::Error::Empty { path, .. } => look_at(path),
        auth::Error::Malformed { path, .. } => {
            format!("look at the file, without showing it: wc -lc {}", shown(path))
        }
        auth::Error::Encrypted { path } => {
            let path = shown(path);
            format!("give a key without one; to make it so: ssh-keygen -p -N '' -f {path}")
        }
        auth::Error::NoCertificate { path } => {
            let path = shown(path);
            format!(
                "give the CA's certificate as PEM: openssl x509 -inform der -in {path} -out ca.pem"
            )
        }
        auth::Error::Mismatch { .. } if remote.to_string().starts_with("http") => {
            "give a token with --token-file".to_owned()
        }
        auth::Error::Missing { .. } | auth::Error::Mismatch { .. } => {
            "give a key with --ssh-key-file and --known-hosts-file".to_owned()
        }
        auth::Error::PlainHttp { .. } => {
            "use https://, or accept the risk with --allow-insecure-http".to_owned()
        }
        auth::Error::PlainHttpApi { .. } => {
            "use https:// in --github-api-url, or accept the risk with --allow-insecure-http"
                .to_owned()
        }
        auth::Error::GithubApp { api, key, source } => app_hint(source, api, key),
        auth::Error::Memory { .. } => return None,
    })
}

fn app_hint(error: &github_app::Error, api: &SafeUrl, key: &Path) -> String {
    use github_app::Error as App;
    match error {
        App::Key { source } => match &**source {
            auth::Error::Malformed { .. } => look_into(key),
            _ => look_at(key),
        },
        App::MalformedKey => look_into(key),
        App::Certificates { .. } => "give certificates as PEM with --ca-file".to_owned(),
        App::PlainHttp => "use https:// in --github-api-url".to_owned(),
        App::Unreachable(_) => format!("try the same by hand: curl -I {api}"),
        App::Refused { status: 401 } => {
            "check that the key is one of the App in --github-app-id, and this machine's clock: date -u"
                .to_owned()
        }
        App::Refused { status: 404 } => format!(
            "check --github-installation-id; and the API, which --github-api-url names: curl -I {api}"
        ),
        App::Refused { status: 403 | 422 } => {
            "let the App read contents, and install it on this repository".to_owned()
        }
        App::Refused { .. } => format!("try again later; see whether the API is up: curl -I {api}"),
        App::Malformed => format!(
            "check --github-api-url; for GitHub Enterprise it is https://HOST/api/v3: curl -I {api}"
        ),
        App::Cancelled => "run the same command again".to_owned(),
        App::Run { .. } => "see what this user may start: ulimit -a".to_owned(),
    }
}

fn look_at(path: &Path) -> String {
    format!("look at the file: ls -l {}", shown(path))
}

/// The first line of a key names its kind, and is no secret.
fn look_into(path: &Path) -> String {
    format!("it should begin with -----BEGIN RSA PRIVATE KEY-----: head -n 1 {}", shown(path))
}

fn shown(path: &Path) -> Quoted<'_> {
    Quoted(path.as_os_str().as_encoded_bytes())
}

fn resolve_hint(error: &refs::Error, remote: &SafeUrl) -> String {
    match error {
        refs::Error::NoVersion { .. } => format!("list the tags: git ls-remote --tags {remote}"),
        refs::Error::Unreachable { .. } => {
            "if you trust that commit, say so with --allow-unreachable".to_owned()
        }
        refs::Error::Ambiguous { .. } => "give more digits of the commit's id".to_owned(),
        refs::Error::Range { .. } | refs::Error::NotFound { .. } => {
            format!("list what is there: git ls-remote {remote}")
        }
    }
}

fn fault_hint(fault: &Fault, remote: &SafeUrl) -> String {
    match fault {
        Fault::Authentication { .. } | Fault::NotFound { .. } => {
            format!("check the URL and the credentials: git ls-remote {remote}")
        }
        Fault::CredentialsNeeded { .. } => {
            "give a token with --token-file FILE (and --username NAME where it is not for a forge), \
             or a GitHub App with --github-app-id; in a cluster git.auth"
                .to_owned()
        }
        Fault::NoTls => {
            "use the port that serves https, or http:// if that is what the server speaks".to_owned()
        }
        Fault::HostKey => {
            "compare the server's key with a trusted one: ssh-keyscan HOST, then add it to the known \
             hosts file"
                .to_owned()
        }
        Fault::Tls { flaw, .. } => certificate_hint(*flaw).to_owned(),
        Fault::Proxy { proxy, .. } => {
            format!("check --proxy, or git.proxy: curl -I -x {proxy} {remote}")
        }
        Fault::Unreachable { .. }
        | Fault::Server { .. }
        | Fault::Damaged
        | Fault::Store
        | Fault::Other { .. } => {
            format!("try the same by hand: git ls-remote {remote}")
        }
        Fault::ObjectFormat => {
            "use a repository with SHA-1 ids, as git init --object-format=sha1 makes it".to_owned()
        }
        Fault::Redirected { to } => format!("if that is right, use the URL that the repository has on {to}"),
        Fault::DubiousOwnership { path, .. } => {
            format!("if you trust it: git config --global --add safe.directory {path}")
        }
        Fault::TimedOut { .. } | Fault::Stalled => {
            "if the server is only slow, allow more time with --timeout".to_owned()
        }
        Fault::NotInstalled { program } => format!("install {program}: apt-get install {}", package(program)),
        Fault::GitTooOld => "see the version: git --version".to_owned(),
        Fault::NoPasswdEntry => {
            "install libnss-wrapper, use https:// with a token, or run as a user that exists".to_owned()
        }
        Fault::StoreFull { .. } => "raise the store's limit, or map fewer files".to_owned(),
        Fault::DiskFull => "make room on its volume: df -h; or use another: --store DIR".to_owned(),
        Fault::NotOurRef => format!("check the commit's id; list what is there: git ls-remote {remote}"),
        Fault::TooLarge { .. } => format!("check that it is the right repository: {remote}"),
        Fault::Cancelled => "run the same command again".to_owned(),
    }
}

fn certificate_hint(flaw: Flaw) -> &'static str {
    match flaw {
        Flaw::Untrusted => {
            "give the CA that signed the server's certificate with --ca-file, or git.caSecretRef; if it is the right one, see whether the certificate has expired"
        }
        Flaw::OtherHost => "use the host name that the certificate is for; a CA does not mend that",
        Flaw::OutOfDate => "renew the server's certificate, or set this machine's clock: date -u",
    }
}

fn package(program: &str) -> &str {
    if program == "ssh" { "openssh-client" } else { "git" }
}
