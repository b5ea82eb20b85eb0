//! The git edge against real repositories and real servers.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod bad;
mod canary;
mod corrupt;
mod damage;
mod deadline;
mod flaky;
mod foreign;
mod hostile;
mod http;
mod proxy;
mod refs;
mod repair;
mod ssh;
mod store;
mod volume;
mod world;
