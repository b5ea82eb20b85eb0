//! Pod bootstrap against a real API server.
//!
//! There is one policy for a whole cluster, so every claim takes the cluster for itself.
#![expect(clippy::unwrap_used, reason = "all of this file is test code")]

mod admission;
mod copies;
mod kubelet;
mod pods;
mod repair;
mod trust_bundle;
mod world;
