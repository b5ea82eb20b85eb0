//! Flags of the commit: repository, ref, credentials.

use std::path::PathBuf;
use std::time::Duration;

use super::positive_duration;
use super::value_source::{FromEnvironment, Given};

/// Flags of the repository, the ref and the credentials.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Repository")]
pub(crate) struct RepositoryArguments {
    #[command(flatten)]
    from_environment: FromEnvironment,
    /// URL of the repository: https, ssh (git@host:path too), git or file
    #[arg(long, value_name = "URL")]
    pub(crate) repo: Option<String>,
    /// Branch, tag, commit, full refs/… or semver range such as "semver:>=2.0 <3"
    #[arg(long = "ref", value_name = "REF")]
    pub(crate) git_ref: Option<String>,
    /// YAML file with a GatewaySync or a SyncProfile, as for a cluster; - for standard input. Flags
    /// override it, except for the Secrets in it
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Profile in that file [default: "default", or the only one]
    #[arg(long, value_name = "NAME", requires = "file")]
    pub(crate) profile: Option<String>,
    /// File with a token or password
    #[arg(long, value_name = "FILE", env = "GIT_TOKEN_FILE", hide_env_values = true)]
    pub(crate) token_file: Option<PathBuf>,
    /// User name that goes with the token [default: x-access-token]
    #[arg(long, value_name = "NAME")]
    pub(crate) username: Option<String>,
    /// File with an SSH private key
    #[arg(long, value_name = "FILE", env = "GIT_SSH_KEY_FILE", hide_env_values = true)]
    pub(crate) ssh_key_file: Option<PathBuf>,
    /// File with the host keys to trust, as ssh-keyscan prints them
    #[arg(long, value_name = "FILE", env = "GIT_KNOWN_HOSTS_FILE", hide_env_values = true)]
    pub(crate) known_hosts_file: Option<PathBuf>,
    /// Id of a GitHub App
    #[arg(long, value_name = "ID", requires_all = ["github_installation_id", "github_key_file"])]
    pub(crate) github_app_id: Option<i64>,
    /// Id of the App's installation
    #[arg(long, value_name = "ID", requires = "github_app_id")]
    pub(crate) github_installation_id: Option<i64>,
    /// File with the App's private key, as PEM; the App's ids come by flags, or from the file
    #[arg(long, value_name = "FILE")]
    pub(crate) github_key_file: Option<PathBuf>,
    /// Base URL of the GitHub API, for GitHub Enterprise
    #[arg(long, value_name = "URL", requires = "github_app_id")]
    pub(crate) github_api_url: Option<String>,
    /// File with the certificates to trust instead of the system's
    #[arg(long, value_name = "FILE", env = "GIT_CA_FILE", hide_env_values = true)]
    pub(crate) ca_file: Option<PathBuf>,
    /// HTTP proxy, without credentials
    #[arg(long, value_name = "URL")]
    pub(crate) proxy: Option<String>,
    /// Send credentials over plain http to other machines than this one
    #[arg(long)]
    pub(crate) allow_insecure_http: bool,
    /// How long one git operation may take [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub(crate) timeout: Option<Duration>,
    /// Use a commit that no branch or tag reaches
    #[arg(long)]
    pub(crate) allow_unreachable: bool,
    /// Directory of the object store [default: below the user's cache, by URL]
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
}

impl RepositoryArguments {
    pub(crate) fn token(&self) -> Option<Given<'_>> {
        let path = self.token_file.as_ref();
        self.from_environment.given(path, "--token-file", "GIT_TOKEN_FILE")
    }

    pub(crate) fn ssh_key(&self) -> Option<Given<'_>> {
        let path = self.ssh_key_file.as_ref();
        self.from_environment.given(path, "--ssh-key-file", "GIT_SSH_KEY_FILE")
    }

    pub(crate) fn known_hosts(&self) -> Option<Given<'_>> {
        let path = self.known_hosts_file.as_ref();
        self.from_environment.given(path, "--known-hosts-file", "GIT_KNOWN_HOSTS_FILE")
    }

    /// The file with the key of an App; there is no environment variable for it.
    pub(crate) fn app_key(&self) -> Option<Given<'_>> {
        self.from_environment.given(self.github_key_file.as_ref(), "--github-key-file", "")
    }

    /// The file with certificates.
    pub(crate) fn authorities(&self) -> Option<Given<'_>> {
        self.from_environment.given(self.ca_file.as_ref(), "--ca-file", "GIT_CA_FILE")
    }
}
