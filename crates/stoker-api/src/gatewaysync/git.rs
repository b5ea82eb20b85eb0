//! The repository, and how to reach it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Reserved, ResolvedSecretRef, SecretRef};
use crate::limit;
use crate::names::SecretKey;
use crate::rule;
use crate::word::Interval;

/// The repository, the ref that is wanted from it, and how to authenticate.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rule::git()))]
pub struct Git {
    /// The URL of the repository: `https://github.com/org/repo.git`, `ssh://git@host/org/repo.git`,
    /// `git@host:org/repo.git` or `git://host/repo`; `file:///srv/repo` where the operator allows
    /// it. `http://` is taken without credentials, or with them if `allowInsecureHTTP` is set.
    /// Credentials in the URL are refused: use `auth`.
    #[schemars(length(min = 1, max = limit::URL))]
    #[schemars(extend("x-kubernetes-validations" = rule::repo_url()))]
    pub repo: String,

    /// The ref to sync: a branch (`main`), a tag (`v2.1.0`; annotated tags are peeled), a full or
    /// an unambiguous short commit id, a full name (`refs/heads/main`), or a range of versions
    /// among the tags (`semver:>=2.0 <3`). Where a branch and a tag have the same name, the branch
    /// is meant.
    #[serde(rename = "ref")]
    #[schemars(length(min = 1, max = limit::REF))]
    #[schemars(extend("x-kubernetes-validations" = rule::git_ref()))]
    pub git_ref: String,

    /// How to authenticate: at most one of `sshKey`, `token` and `githubApp`. Leave it out for a
    /// public repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Auth>,

    /// The certificates of a private CA that the git server's certificate is verified with. The
    /// default key is `ca.crt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_secret_ref: Option<SecretRef>,

    /// The HTTP proxy to the git server, such as `http://proxy.example.com:3128`. Credentials in
    /// the URL are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = limit::URL))]
    #[schemars(extend("x-kubernetes-validations" = rule::http_url("git.proxy")))]
    pub proxy: Option<String>,

    /// How long one git operation may take, such as `30s` or `2m`. The default is `30s`. What is
    /// known to take longer, such as a first fetch, must keep making progress instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = limit::INTERVAL))]
    #[schemars(extend("x-kubernetes-validations" = rule::interval("git.timeout")))]
    pub timeout: Option<String>,

    /// Allows credentials to be sent over `http://`, readable by everyone on the way. The default
    /// is false.
    #[serde(default, rename = "allowInsecureHTTP", skip_serializing_if = "Option::is_none")]
    pub allow_insecure_http: Option<bool>,

    /// Reserved for the verification of signatures; not supported by this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "Reserved::git_verify")]
    pub verify: Option<serde_json::Value>,
}

/// How to authenticate to the git server: at most one method.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rule::auth()))]
pub struct Auth {
    /// An SSH private key, such as a deploy key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh_key: Option<SshKey>,

    /// A token: a personal access token, a project token or a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,

    /// A GitHub App. The controller exchanges its private key for short-lived tokens; the key never
    /// reaches a gateway's pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub github_app: Option<GithubApp>,
}

/// An SSH private key.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct SshKey {
    /// The Secret with the private key. The default key is `ssh-privatekey`.
    pub secret_ref: SecretRef,

    /// The host keys to trust. Without them the controller pins the host key that it sees first,
    /// the condition `SSHHostKeyVerification` says so, and a changed key is refused until the
    /// annotation `stoker.io/forget-host-key` drops the pin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_hosts: Option<KnownHosts>,
}

/// Host keys to trust.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct KnownHosts {
    /// The Secret with lines as in `~/.ssh/known_hosts`, for example from `ssh-keyscan`. The
    /// default key is `known_hosts`.
    pub secret_ref: SecretRef,
}

/// A token.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    /// The Secret with the token. The default key is `token`.
    pub secret_ref: SecretRef,

    /// The user name that goes with the token. The default is `x-access-token`, which GitHub,
    /// GitLab and Gitea take for any token; Bitbucket wants `x-token-auth`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = limit::USERNAME))]
    #[schemars(extend("x-kubernetes-validations" = rule::username()))]
    pub username: Option<String>,
}

/// A GitHub App.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct GithubApp {
    /// The id of the App, from its settings page.
    #[schemars(range(min = 1))]
    pub app_id: i64,

    /// The id of the App's installation in the organisation that owns the repository.
    #[schemars(range(min = 1))]
    pub installation_id: i64,

    /// The Secret with the App's private key (PEM). The default key is `private-key.pem`.
    pub private_key_secret_ref: SecretRef,

    /// The API of a GitHub Enterprise Server, such as `https://github.example.com/api/v3`. The
    /// default is `https://api.github.com`.
    #[serde(default, rename = "apiBaseURL", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limit::URL))]
    #[schemars(extend("x-kubernetes-validations" = rule::api_base_url()))]
    pub api_base_url: Option<String>,
}

/// How often the remote is asked for new commits.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Polling {
    /// Whether the remote is asked by itself. The default is true. Without polling, only push
    /// events and changes of this object set off a sync.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,

    /// How long to wait between two queries, such as `60s` or `5m`, at least `5s`. The default is
    /// `60s`. GatewaySyncs with the same repository and credentials share one query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = limit::INTERVAL))]
    #[schemars(extend("x-kubernetes-validations" = rule::interval("polling.interval")))]
    pub interval: Option<String>,
}

/// The method of authentication that is configured, with its Secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "a field is named after what it holds")]
pub enum AuthMethod<'a> {
    /// An SSH key, and the host keys to trust.
    SshKey { key: ResolvedSecretRef, known_hosts: Option<ResolvedSecretRef> },
    /// A token and its user name.
    Token { token: ResolvedSecretRef, username: &'a str },
    /// A GitHub App and its private key.
    GithubApp { app: &'a GithubApp, key: ResolvedSecretRef },
}

impl Git {
    /// How long one git operation may take where nothing is set.
    pub const DEFAULT_TIMEOUT: Interval = Interval::from_secs(30);
}

impl Auth {
    /// Returns the method that is configured; the schema allows at most one.
    pub fn method(&self) -> Option<AuthMethod<'_>> {
        // Without `..`, so that a new method can't be forgotten here.
        let Self { ssh_key, token, github_app } = self;
        if let Some(ssh) = ssh_key {
            let known_hosts = ssh.known_hosts.as_ref();
            return Some(AuthMethod::SshKey {
                key: ssh.secret_ref.resolve(SecretKey::SshPrivateKey),
                known_hosts: known_hosts.map(|k| k.secret_ref.resolve(SecretKey::KnownHosts)),
            });
        }
        if let Some(token) = token {
            let username = token.username.as_deref().unwrap_or(Token::DEFAULT_USERNAME);
            let token = token.secret_ref.resolve(SecretKey::Token);
            return Some(AuthMethod::Token { token, username });
        }
        let app = github_app.as_ref()?;
        let key = app.private_key_secret_ref.resolve(SecretKey::GithubAppKey);
        Some(AuthMethod::GithubApp { app, key })
    }
}

impl Token {
    /// The user name that goes with a token where nothing is set.
    pub const DEFAULT_USERNAME: &str = "x-access-token";
}

impl GithubApp {
    /// The API that is asked where nothing is set.
    pub const DEFAULT_API: &str = "https://api.github.com";
}

impl Polling {
    /// How long to wait between two queries where nothing is set.
    pub const DEFAULT_INTERVAL: Interval = Interval::from_secs(60);
}
