//! The gateway's client against the simulated gateway, over real HTTP.

#![expect(clippy::unwrap_used, reason = "test code, its support included")]

mod channel;
mod designer;
mod fault;
mod key;
mod lock;
mod preflight;
mod scan;
mod support;
mod transaction;
