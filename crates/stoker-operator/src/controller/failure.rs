//! Why a pass failed.

use crate::controller::apply::Fault;
use crate::controller::cache::Key;

/// Why a pass, or the controller, ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// This instance does not hold the Lease any more, so it must not write.
    #[error("this instance does not lead any more")]
    NotLeading,
    /// A pass panicked, which is a fault of ours.
    #[error("a pass panicked: please report this with the lines above")]
    Panicked,
    /// A pass took too long: the API server did not answer a request.
    #[error("a pass did not end in time")]
    TimedOut,
    /// A watch ended, which is a fault of ours.
    #[error("a watch ended")]
    WatchEnded,
    /// The status could not be written.
    #[error("failed to publish the status of GatewaySync \"{key}\"")]
    Publish { key: Key, source: Box<kube::Error> },
    /// The reports of the Go operator's agents could not be read.
    #[error("failed to read what agents of the Go operator report to GatewaySync \"{key}\"")]
    LegacyReports { key: Key, source: Box<kube::Error> },
    /// Agents of a GatewaySync that can't be read could not be told of the emergency stop.
    #[error("failed to tell agents of GatewaySync \"{key}\" of the emergency stop")]
    Stop { key: Key, source: Box<Fault> },
    /// The finalizer could not be removed.
    #[error("failed to let go of GatewaySync \"{key}\"")]
    Release { key: Key, source: Box<kube::Error> },
}
