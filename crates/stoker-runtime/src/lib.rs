//! The process around Stoker's programs: what operator and agent need before they do anything of
//! their own.
//!
//! | module | what it gives |
//! |---|---|
//! | [`client`] | the Kubernetes client, with timeouts and retries that are chosen here |
//! | [`crypto`] | the one crypto provider |
//! | [`telemetry`] | logs as JSON or text |
//! | [`admin`] | health, readiness and metrics over HTTP |
//! | [`server`], [`listener`] | HTTP servers with limits and deadlines |
//! | `tls` (feature `tls`) | a server certificate that can be swapped while connections are open |
//! | [`lease`] | leader election on monotonic time |
//! | [`shutdown`] | SIGTERM and SIGINT |
//!
//! The feature `arguments` adds the clap groups of these modules.

pub mod admin;
pub mod client;
pub mod crypto;
pub mod lease;
pub mod listener;
pub mod server;
pub mod shutdown;
pub mod telemetry;
#[cfg(feature = "tls")]
pub mod tls;

pub use shutdown::Shutdown;
