//! Pod bootstrap: latency and rate of its webhook over TLS, copies in 1,000 namespaces of a real API
//! server, and memory with 20,000 pods.

mod copies;
mod load;
mod memory;
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
    let mut world = World::begin(&flags).await?;
    if flags.wants("latency") {
        found(vec![load::latency(&world).await?]);
    }
    if flags.wants("rate") {
        found(vec![load::rate(&world).await?]);
    }
    if flags.wants("P26") {
        found(copies::measure(&mut world).await?);
    }
    if flags.wants("memory") {
        found(vec![memory::measure(&mut world).await?]);
    }
    let machine = Machine::observe("loopback".to_owned(), vec![world.kubernetes.clone()]);
    let report = Report { suite: "bootstrap", machine, pairs: 1, findings };
    flags.conclude(&report, &world.target)
}
