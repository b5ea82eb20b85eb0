//! The commands that talk to a cluster, against a real API server. The controller's part is played
//! by writing the status that it would write.
#![expect(clippy::unwrap_used, reason = "all of this file is test code")]

mod bootstrap;
mod doctor;
mod migrate;
mod pause;
mod render;
#[path = "../cli/kit/run.rs"]
mod run;
mod status;
mod sync_now;
mod world;
