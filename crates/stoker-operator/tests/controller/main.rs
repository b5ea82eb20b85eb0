//! The controller against a real API server and real git servers.
#![expect(clippy::unwrap_used, reason = "all of this file is test code")]

mod auth;
mod canary;
mod churn;
mod crash;
mod definition;
mod deletion;
mod discovery;
mod fault;
mod gateway;
mod leader;
mod legacy;
mod neighbour;
mod policy;
mod profile;
mod refs;
mod report;
mod rights;
mod rotation;
mod shard;
mod stale;
mod tell;
mod world;
