//! Flags of the gateway that is asked to scan.

use std::path::PathBuf;
use std::time::Duration;

use super::positive_duration;
use super::value_source::{FromEnvironment, Given};

/// Flags that say which gateway, and how to talk to it.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Gateway")]
pub(crate) struct GatewayArguments {
    #[command(flatten)]
    from_environment: FromEnvironment,
    /// URL of the gateway, with its port (8088 or 8043); without it files are written and no
    /// gateway is asked to scan
    #[arg(long, value_name = "URL")]
    pub(crate) gateway: Option<String>,
    /// File with the gateway's API key, name:secret
    #[arg(long, value_name = "FILE", env = "API_KEY_FILE", hide_env_values = true)]
    pub(crate) api_key_file: Option<PathBuf>,
    /// File with the certificates to trust for the gateway instead of the system's; without it, one
    /// on localhost is not verified
    #[arg(long, value_name = "FILE", requires = "gateway")]
    pub(crate) gateway_ca_file: Option<PathBuf>,
    /// How long to wait for a gateway that starts, a lock or a scan
    #[arg(long, value_name = "TIME", value_parser = positive_duration, default_value = "60s")]
    pub(crate) gateway_timeout: Duration,
}

impl GatewayArguments {
    pub(crate) fn api_key(&self) -> Option<Given<'_>> {
        let path = self.api_key_file.as_ref();
        self.from_environment.given(path, "--api-key-file", "API_KEY_FILE")
    }
}
