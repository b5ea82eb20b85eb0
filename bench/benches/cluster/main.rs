//! Stoker on a real node: from a push to the file, from a pod to its gateway, memory, images.
//!
//! The operator, the repository and the gateway are those of `docs/quickstart.md`, with a repository
//! of [`FILES`] files. Needs a node, and so root.

mod image;
mod memory;
mod push;
mod start;
mod world;

use std::process::ExitCode;

use clap::Parser as _;
use stoker_bench::suite::Flags;

/// How many files the repository has.
const FILES: usize = 100;

fn main() -> anyhow::Result<ExitCode> {
    world::run(&Flags::parse())
}
