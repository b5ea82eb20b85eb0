//! What a file of credentials should hold, checked before anything is contacted.

use std::path::Path;

use super::{Error, check_certificates, github_app, read_line, ssh};

/// What a file should hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// A token or a password, in one line.
    Token,
    /// An SSH private key without a passphrase.
    SshKey,
    /// Host keys to trust.
    KnownHosts,
    /// The private key of a GitHub App.
    GithubAppKey,
    /// Certificates to trust.
    Certificates,
}

impl Content {
    /// Returns what is wrong with a file, in words that follow a name for it. Neither its path nor
    /// anything of its content is in them.
    pub fn fault(self, path: &Path) -> Option<String> {
        let checked = match self {
            Self::Token => read_line("token file", path).map(drop),
            Self::SshKey => ssh::read_key(path).map(drop),
            Self::KnownHosts => ssh::read_hosts(path).map(drop),
            Self::GithubAppKey => return github_app::fault_of_key(path),
            Self::Certificates => check_certificates(path),
        };
        checked.err().map(|error| words(&error))
    }
}

/// The fault alone.
pub(super) fn words(error: &Error) -> String {
    match error {
        Error::Read { source, .. } => format!("can't be read: {source}"),
        Error::Empty { what: "known hosts file", .. } => "names no host".to_owned(),
        Error::Empty { .. } => "is empty".to_owned(),
        Error::Malformed { fault, .. } => (*fault).to_owned(),
        Error::Encrypted { .. } => {
            "is encrypted with a passphrase, which Stoker can't ask for".to_owned()
        }
        Error::NoCertificate { .. } => "holds no certificate in PEM form".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memfile::MemFile;

    #[test]
    fn faults_name_neither_the_file_nor_what_it_holds() {
        for (content, text, fault) in [
            (Content::Token, "canary\ncanary", Some("holds more than one line")),
            (Content::Token, "", Some("is empty")),
            (Content::Token, "canary\n", None),
            (Content::SshKey, "canary", Some("is not a private key")),
            (Content::SshKey, "-----BEGIN ENCRYPTED PRIVATE KEY-----", Some("passphrase")),
            (Content::KnownHosts, "# canary", Some("names no host")),
            (Content::GithubAppKey, "canary", Some("RSA private key")),
            (Content::Certificates, "canary", Some("no certificate")),
        ] {
            let file = MemFile::new(text.as_bytes()).unwrap();
            let found = content.fault(&file.path());
            let fault_text = found.as_deref().unwrap_or_default();
            assert!(fault_text.contains(fault.unwrap_or_default()), "{content:?}: {fault_text}");
            assert_eq!(found.is_some(), fault.is_some(), "{content:?}: {fault_text}");
            assert!(
                !fault_text.contains("canary") && !fault_text.contains("/proc"),
                "{fault_text}"
            );
        }
    }
}
