//! The git edge against real repositories and real servers.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod damaged_objects;
mod damaged_store;
mod deadline;
mod directory;
mod failing_fetch;
mod faulty_server;
mod http;
mod leaks;
mod proxy;
mod refs;
mod repair;
mod ssh;
mod store;
mod volume;
mod world;
