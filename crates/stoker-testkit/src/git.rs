//! Git for tests: repositories made in an instant, and real servers in front of them.
//!
//! Nothing here is a mock. Repositories are written by `git fast-import`, smart HTTP is answered by
//! `git http-backend`, SSH by Debian's sshd, `git://` by `git daemon`. What misbehaves ([`bad`])
//! does so in front of the real thing. Commit ids are deterministic: names and dates are fixed.

pub mod bad;
pub mod daemon;
pub mod github;
pub mod hostile;
pub mod http;
pub mod ignition;
pub mod ssh;
pub mod tls;

mod background;
mod client;
mod edit;
mod error;
mod import;
mod inetd;
mod noise;
mod oid;
mod packet;
mod raw;
mod refs;
mod repo;
mod run;
mod tree;

pub use client::Client;
pub use edit::Edit;
pub use error::Error;
pub use oid::Oid;
pub use raw::RawEntry;
pub use repo::Repo;
pub use run::{command, run};
pub use tree::{Content, Entry, Mode, Tree};
