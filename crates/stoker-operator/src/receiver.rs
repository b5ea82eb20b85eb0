//! Placeholder until this part of the operator is in place.

use prometheus_client::registry::Registry;

use crate::run::Shared;

/// The arguments of this part.
#[derive(Debug, Clone, clap::Args)]
#[group(id = "receiver")]
pub(crate) struct Arguments {}

/// What this part counts.
#[derive(Debug, Clone)]
pub(crate) struct Metrics;

/// Why this part ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {}

impl Arguments {
    /// Returns what the receiver has besides the Secrets of GatewaySyncs; none where it is off.
    pub(crate) fn secrets(&self) -> Option<crate::controller::ReceiverSecrets> {
        Some(crate::controller::ReceiverSecrets::Nothing)
    }
}

impl Metrics {
    /// Registers the metrics.
    pub(crate) fn register(_: &mut Registry) -> Self {
        Self
    }
}

/// Runs until the end is requested.
pub(crate) async fn run(shared: Shared, _: Arguments, _: Metrics) -> Result<(), Error> {
    shared.shutdown.requested().await;
    Ok(())
}
