//! The command line of `fake-gateway`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Parser, ValueEnum};
use fake_gateway::{Options, State, Token};

/// Run a stand-in for an Ignition gateway over a data directory
#[derive(Parser)]
#[command(after_help = "Example: fake-gateway --data /tmp/data --token ci:secret")]
pub(crate) struct Args {
    /// Data directory to scan
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Address of the plain port; 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Address of a TLS port
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen_tls: Option<SocketAddr>,
    /// Write the authority of the TLS port here, as PEM
    #[arg(long, value_name = "FILE", requires = "listen_tls")]
    pub(crate) ca_out: Option<PathBuf>,
    /// API token, `name:secret`; repeatable
    #[arg(long, value_name = "NAME:SECRET")]
    pub(crate) token: Vec<String>,
    /// State to start in
    #[arg(long, value_enum, default_value = "running")]
    pub(crate) state: StartState,
    /// How long a scan takes, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub(crate) scan_ms: u64,
    /// How late the scan status is, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub(crate) lag_ms: u64,
    /// Scan by itself this often, in milliseconds
    #[arg(long, value_name = "MS")]
    pub(crate) auto_scan_ms: Option<u64>,
    /// Rewrite each `resource.json` whose signature does not fit
    #[arg(long)]
    pub(crate) rewrite_resources: bool,
    /// Print a line for each scan
    #[arg(long, conflicts_with = "end_with_stdin")]
    pub(crate) print_scans: bool,
    /// End when standard input does, so that a killed parent leaves nothing behind
    #[arg(long)]
    pub(crate) end_with_stdin: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum StartState {
    Running,
    Starting,
    Uncommissioned,
}

impl Args {
    pub(crate) fn options(&self) -> anyhow::Result<Options> {
        let tokens = self.token.iter().map(|pair| Token::parse(pair)).collect::<Option<_>>();
        Ok(Options {
            data: self.data.clone(),
            plain: Some(self.listen),
            tls: self.listen_tls,
            tokens: tokens.context("a token is written name:secret")?,
            state: match self.state {
                StartState::Running => State::Running,
                StartState::Starting => State::Starting,
                StartState::Uncommissioned => State::Uncommissioned,
            },
            scan_duration: Duration::from_millis(self.scan_ms),
            status_lag: Duration::from_millis(self.lag_ms),
            auto_scan: self.auto_scan_ms.map(Duration::from_millis),
            rewrites_resources: self.rewrite_resources,
            ..Options::default()
        })
    }
}
