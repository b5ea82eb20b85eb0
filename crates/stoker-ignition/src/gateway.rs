//! A gateway as the rest of Stoker knows it; the steps are in modules of their own.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use stoker_sync::Cancel;

use crate::client::Client;
use crate::endpoint::Endpoint;
use crate::error::Error;

/// What a lock is asked for at least: less would be over before the files of a slow disk are in
/// place.
const LEAST_HOLD: Duration = Duration::from_secs(10);

/// What it takes to talk to a gateway.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where it is.
    pub endpoint: Endpoint,
    /// File that holds `name:secret`; read for every call.
    pub api_key_file: Option<PathBuf>,
    /// PEM file of the authorities that may sign its certificate.
    pub ca_file: Option<PathBuf>,
    /// How long and how much.
    pub limits: Limits,
    /// Asked while we wait.
    pub cancel: Cancel,
}

/// How long anything may take, and how large a response may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// One call, from the first packet to the last byte of its response; never more than `gateway`.
    pub call: Duration,
    /// The connection alone; part of `call`.
    pub connect: Duration,
    /// Bytes of one response.
    pub body: usize,
    /// What is waited for: a gateway to come up, a lock to be free, a scan to end
    /// (`--gateway-timeout`).
    pub gateway: Duration,
    /// How long the gateway keeps a scan lock that is not released; capped at `gateway`, but not
    /// below 10 s.
    pub hold: Duration,
}

/// A gateway and the way to it.
pub struct Gateway {
    pub(crate) client: Client,
    pub(crate) limits: Limits,
}

impl Options {
    /// Returns options with a key file and usual limits.
    pub fn new(endpoint: Endpoint, api_key_file: impl Into<PathBuf>) -> Self {
        Self {
            endpoint,
            api_key_file: Some(api_key_file.into()),
            ca_file: None,
            limits: Limits::default(),
            cancel: Cancel::default(),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            call: Duration::from_secs(10),
            connect: Duration::from_secs(3),
            body: 4 * 1024 * 1024,
            gateway: Duration::from_mins(1),
            hold: Duration::from_mins(1),
        }
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Gateway {
    /// Prepares requests to a gateway, without contacting it.
    pub fn connect(mut options: Options) -> Result<Self, Error> {
        let limits = &mut options.limits;
        // A gateway timeout of two seconds also limits each request.
        limits.call = limits.call.min(limits.gateway);
        limits.connect = limits.connect.min(limits.call);
        // After a kill the next run, as patient as this one, outwaits what this one left.
        limits.hold = limits.hold.min(limits.gateway.max(LEAST_HOLD));
        let limits = options.limits;
        Ok(Self { client: Client::new(options)?, limits })
    }
}
