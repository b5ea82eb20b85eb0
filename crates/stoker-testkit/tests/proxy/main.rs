//! The fault proxy between kube's client and a real API server: exact counts, and every fault felt.

#![expect(clippy::unwrap_used, reason = "all of these files are test code")]

mod fault;
mod outage;
mod pass;
mod watch;
mod world;
