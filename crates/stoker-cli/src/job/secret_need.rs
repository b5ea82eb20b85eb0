//! What a reference of the file is for: its field, the flag that can replace it, and what its value
//! must be.

use std::path::Path;

use stoker_git::auth::Content;

/// What a reference is for.
#[derive(Debug, Clone, Copy)]
pub(super) struct SecretNeed {
    pub(super) field: &'static str,
    /// The flag that gives the same by file.
    pub(super) flag: &'static str,
    /// What the value must be.
    pub(super) shape: &'static str,
    /// Says what is wrong with a file that holds the value.
    pub(super) fault: fn(&Path) -> Option<String>,
}

pub(super) const TOKEN: SecretNeed = SecretNeed {
    field: "spec.git.auth.token.secretRef",
    flag: "--token-file",
    shape: "the token alone, in one line",
    fault: |path| Content::Token.fault(path),
};

pub(super) const SSH_KEY: SecretNeed = SecretNeed {
    field: "spec.git.auth.sshKey.secretRef",
    flag: "--ssh-key-file",
    shape: "a private key without a passphrase, with all its lines",
    fault: |path| Content::SshKey.fault(path),
};

pub(super) const KNOWN_HOSTS: SecretNeed = SecretNeed {
    field: "spec.git.auth.sshKey.knownHosts.secretRef",
    flag: "--known-hosts-file",
    shape: "lines as ssh-keyscan HOST prints them",
    fault: |path| Content::KnownHosts.fault(path),
};

pub(super) const APP_KEY: SecretNeed = SecretNeed {
    field: "spec.git.auth.githubApp.privateKeySecretRef",
    flag: "--github-key-file",
    shape: "the App's private key as PEM, with all its lines",
    fault: |path| Content::GithubAppKey.fault(path),
};

pub(super) const AUTHORITIES: SecretNeed = SecretNeed {
    field: "spec.git.caSecretRef",
    flag: "--ca-file",
    shape: "the CA's certificate as PEM, with all its lines",
    fault: |path| Content::Certificates.fault(path),
};

pub(super) const API_KEY: SecretNeed = SecretNeed {
    field: "spec.gateway.api",
    flag: "--api-key-file",
    shape: "the key as name:secret, in one line",
    fault: |path| stoker_ignition::fault_of_key(path).map(|why| format!("is not usable: {why}")),
};
