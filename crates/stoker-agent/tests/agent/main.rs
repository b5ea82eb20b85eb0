//! The agent as a program, against a real API server, a real git server and a gateway stand-in.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod auth;
mod gateway;
mod outage;
mod process;
mod sync;
mod traffic;
mod world;
