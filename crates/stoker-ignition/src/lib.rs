//! The edge to an Ignition gateway: is it ready, may we write, scan what we wrote, what has it
//! loaded.
//!
//! Does not write files, keep state between runs or decide when to try again: the caller does, in
//! this order.
//!
//! # Flow
//!
//! 1. [`Gateway::connect`] reads options, without contacting the gateway.
//! 2. [`Gateway::preflight`] reads the key, then asks whether the gateway is in service and takes our key:
//!    [`Preflight::Scan`] goes on with 3, [`Preflight::FilesOnly`] writes the files without lock and scan,
//!    an error writes nothing.
//! 3. [`Gateway::wait_for_designers`], then temporary files are written and made durable, then
//!    [`Gateway::lock`].
//! 4. [`Gateway::check_designers`] once more; renames and deletes, and [`Gateway::renew`] between
//!    two resources whenever [`Held::is_short`]. If nothing comes of it, [`Gateway::release`].
//! 5. [`Gateway::scan`] asks for the halves that changed, projects first, and waits until they were
//!    scanned. Asking is also what lets the lock go: there is no other release but expiry.
//! 6. [`Gateway::verify`] asks whether the projects are loaded.
//!
//! # Promises
//!
//! - Every call has a total deadline and a cap on what it reads, and ends within 100 ms of
//!   [`Cancel`]; but [`Gateway::release`] has 3 s, cancelled or not.
//! - The API key is read for every call, sent to the gateway only, and part of no value that
//!   can be printed.
//! - No redirect is followed, no proxy is used, no body is parsed before its status and content
//!   type were checked.
//! - [`Scan::Done`] is said only after the gateway's own scan status has changed since our request.
//!
//! # Assumes
//!
//! Calls block and run on a small runtime of their own: from async code, call them on a thread
//! where blocking is allowed.

mod client;
mod designer;
mod endpoint;
mod error;
mod gateway;
mod health;
mod key;
mod lock;
mod preflight;
mod project;
mod response;
mod scan;
mod transport;

pub use designer::{Designer, Policy};
pub use endpoint::Endpoint;
pub use error::{Call, Consequence, Error, Reason, Retry};
pub use gateway::{Gateway, Limits, Options};
pub use health::Readiness;
pub use key::fault_of_key;
pub use lock::{Held, Lock, Refusal};
pub use preflight::{DataDirectory, Preflight};
pub use project::Verification;
pub use scan::{Scan, ScanOutcome, retry_after};
pub use stoker_sync::{Cancel, Half, Halves};
