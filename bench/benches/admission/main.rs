//! The admission webhook: latency and rate over TLS, what it adds to the creation of a pod through
//! a real API server, memory, and rotations of its certificate under load.

mod creation;
mod load;
mod rotation;
mod world;

use std::process::ExitCode;

use clap::Parser as _;
use stoker_bench::finding::Finding;
use stoker_bench::report::{Machine, Report};
use stoker_bench::suite::{Flags, announce};

use world::World;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> anyhow::Result<ExitCode> {
    let flags = Flags::parse();
    let mut findings: Vec<Finding> = Vec::new();
    let mut found = |new: Vec<Finding>| {
        announce(&new);
        findings.extend(new);
    };
    let world = World::begin(&flags).await?;
    // Memory counts what all others asked for, so it comes last.
    if flags.wants("P14") {
        found(load::latency(&world).await?);
    }
    if flags.wants("P15") {
        found(load::rate(&world).await?);
    }
    if flags.wants("P16") {
        found(load::unasked(&world).await?);
        found(creation::calls(&world).await?);
    }
    if flags.wants("creation") {
        found(creation::overhead(&world).await?);
    }
    if flags.wants("memory") {
        found(vec![world.memory()?]);
    }
    if flags.wants("rotation") {
        found(rotation::measure(&world).await?);
    }
    let machine = Machine::observe("loopback".to_owned(), vec![world.kubernetes.clone()]);
    let report = Report { suite: "admission", machine, pairs: world.turns, findings };
    flags.conclude(&report, &world.target)
}
