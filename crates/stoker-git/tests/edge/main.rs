//! The git edge against real repositories and real servers.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod damage;
mod deadline;
mod directory;
mod faulty_server;
mod http;
mod proxy;
mod refs;
mod repair;
mod ssh;
mod store;
mod volume;
mod world;
