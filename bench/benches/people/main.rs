//! `stoker status` and `stoker doctor` on a fleet of 1,000 GatewaySyncs: how long until they print,
//! and how much memory they take.

mod fleet;

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use clap::Parser as _;
use stoker_bench::cgroup::Cgroup;
use stoker_bench::finding::{Bar, Finding, Unit};
use stoker_bench::program::{Program, complaint, isolated};
use stoker_bench::report::{Machine, Report};
use stoker_bench::suite::{Flags, announce};
use stoker_testkit::cluster::Cluster;

use fleet::Fleet;

/// Until the first byte is printed.
const WITHIN_MS: f64 = 2000.0;
const MEMORY: u64 = 64 * MIB;
const MIB: u64 = 1024 * 1024;
const COMMANDS: [&str; 2] = ["status", "doctor"];

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> anyhow::Result<ExitCode> {
    let flags = Flags::parse();
    let cluster = Cluster::shared();
    let fleet = Fleet { syncs: 1000, gateways: if flags.quick { 1 } else { 10 } };
    let begun = Instant::now();
    fleet.create(cluster).await?;
    eprintln!("{fleet:?} after {:.0} s", begun.elapsed().as_secs_f64());
    let stoker = flags.stoker()?;
    let mut findings = Vec::new();
    for command in COMMANDS.into_iter().filter(|command| flags.wants(command)) {
        let found = [time(&flags, &fleet, &stoker, command)?, memory(&fleet, &stoker, command)?];
        announce(&found);
        findings.extend(found);
    }
    let version =
        format!("Kubernetes {}", cluster.client().await.apiserver_version().await?.git_version);
    let machine = Machine::observe("loopback".to_owned(), vec![version]);
    let report = Report { suite: "people", machine, pairs: flags.pairs(), findings };
    flags.conclude(&report, &target()?)
}

/// The median of several runs. The whole run is in the words.
fn time(
    flags: &Flags,
    fleet: &Fleet,
    stoker: &Program,
    command: &'static str,
) -> anyhow::Result<Finding> {
    let runs = (0..flags.pairs()).map(|_| run(fleet, stoker, command));
    let mut runs: Vec<(Duration, Duration)> = runs.collect::<Result<_, _>>()?;
    runs.sort();
    let (first, whole) = runs[runs.len() / 2];
    let claim = format!("stoker {command} -A, {fleet}: first output");
    let bar = Bar { id: command, claim, limit: WITHIN_MS, unit: Unit::Milliseconds };
    let measured = format!("the whole run {:.0} ms", whole.as_secs_f64() * 1e3);
    Ok(bar.judge(first.as_secs_f64() * 1e3, measured))
}

/// Times until the first byte, and until the end.
fn run(fleet: &Fleet, stoker: &Program, command: &str) -> anyhow::Result<(Duration, Duration)> {
    let begun = Instant::now();
    let mut child = stoker
        .command()
        .args([command, "-A"])
        .env("KUBECONFIG", Cluster::shared().kubeconfig())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut output = child.stdout.take().context("it is piped")?;
    let mut text = vec![0; 1];
    output.read_exact(&mut text).context("it printed nothing")?;
    let first = begun.elapsed();
    output.read_to_end(&mut text)?;
    child.wait()?;
    let whole = begun.elapsed();
    let text = String::from_utf8_lossy(&text);
    ensure!(fleet.is_shown(command, &text), "not the fleet: {text}");
    Ok((first, whole))
}

/// Inside a group that may have 64 MiB.
fn memory(fleet: &Fleet, stoker: &Program, command: &'static str) -> anyhow::Result<Finding> {
    let claim = format!("stoker {command} -A, {fleet}: memory that can't be given back");
    let limit = mebibytes(MEMORY);
    let bar = Bar { id: command, claim, limit, unit: Unit::Mebibytes };
    let group = match Cgroup::with_limit(MEMORY) {
        Ok(group) => group,
        Err(error) => return Ok(bar.skip(format!("no memory cgroup: {error}"))),
    };
    let mut limited = isolated("/bin/sh");
    limited.args(["-c", "KUBECONFIG=\"$0\" exec \"$@\" > /dev/null"]);
    limited.arg(Cluster::shared().kubeconfig()).arg(stoker.path()).args([command, "-A"]);
    let fared = group.run(&limited)?;
    // 1: it is not well, which this fleet is not.
    if fared.kills > 0 || fared.output.status.code() != Some(1) {
        let why = complaint(&fared.output);
        let measured = format!("did not finish, {} killed for memory: {why}", fared.kills);
        return Ok(bar.judge(f64::INFINITY, measured));
    }
    let measured = format!("{:.0} MiB with page cache", mebibytes(fared.peak));
    Ok(bar.judge(mebibytes(fared.anonymous_peak), measured))
}

fn mebibytes(bytes: u64) -> f64 {
    let kibibytes = u32::try_from(bytes / 1024).unwrap_or(u32::MAX);
    f64::from(kibibytes) / 1024.0
}

/// Cargo's target directory: this program is in `release/deps` below it.
fn target() -> anyhow::Result<PathBuf> {
    let me = std::env::current_exe().context("failed to find this program")?;
    me.ancestors().nth(3).map(Path::to_owned).context("it is in a target directory")
}
