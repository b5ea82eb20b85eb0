//! What controller, webhook and agent owe each other.
//!
//! # Flow
//! The controller writes [`metadata::Metadata`] into the ConfigMap `stoker-metadata-{cr}`; agents
//! watch it and apply exactly the commit that it announces. Each agent writes a [`report::Report`]
//! under its pod's name into `stoker-status-{cr}-{n}`; the controller reads them all. The webhook
//! hands an agent its place in the world by [`env::Env`] and the paths in [`mount`].
//!
//! # Promises
//! Nothing here holds a secret. Lists and texts are cut to a size and say so. Readers ignore fields
//! that they do not know, so that controller and agent may be one version apart; a different
//! [`PROTOCOL`] is refused by name.
//!
//! # When it fails
//! A reader returns what is wrong and with which key. The agent then keeps what it has; the
//! controller shows the gateway as Error with the text.

pub mod cap;
pub mod env;
pub mod metadata;
pub mod mount;
pub mod report;

/// The version of the contract. It changes only when an older reader would do harm.
pub const PROTOCOL: &str = "1";

#[cfg(test)]
mod tests;
