//! A stand-in for an Ignition gateway: its HTTP API, its scans and its moods, over a real data
//! directory.
//!
//! No gateway can run where our tests run, so this one behaves as real ones were seen to, the ugly
//! parts included. It really scans the directory that it is given and remembers what it saw, so
//! that a test can prove which state a gateway would have loaded. It does not evaluate projects,
//! tags or scripts.
//!
//! Promises: everything it serves is on loopback unless told otherwise; it writes to the data
//! directory only where a real gateway would (seed, `resource.json`) and only when asked to by
//! [`Options`]; it ends with its handle.
//!
//! ```
//! # fn main() -> std::io::Result<()> {
//! let gateway = fake_gateway::Gateway::start(fake_gateway::Options::default().token("ci:secret"))?;
//! assert!(gateway.url().starts_with("http://127.0.0.1:"));
//! # Ok(())
//! # }
//! ```

mod auth;
mod fault;
mod gateway;
mod load;
mod lock;
mod options;
mod reply;
mod resource;
mod route;
mod scan;
mod server;
#[cfg(feature = "tls")]
mod tls;
mod world;

pub use auth::Token;
pub use fault::{Fault, Ugly};
pub use gateway::Gateway;
pub use load::Poison;
pub use options::{Api, Items, Options, Relock};
pub use resource::signature;
pub use world::{Half, Loaded, Recorded, ScanRecord, State};
