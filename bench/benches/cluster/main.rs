//! Stoker on a real node: from a push to the file, from a pod to its gateway, at rest, images.
//!
//! The operator is installed with the commands of `docs/quickstart.md`. Each measurement has
//! GatewaySyncs with repositories of its own. Needs a node, and so root.

mod agent;
mod heavy;
mod image;
mod push;
mod rest;
mod site;
mod start;
mod world;

use std::process::ExitCode;

use clap::Parser as _;
use stoker_bench::suite::Flags;

fn main() -> anyhow::Result<ExitCode> {
    world::run(&Flags::parse())
}
