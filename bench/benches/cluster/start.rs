//! From the creation of a pod to its gateway's process, beside a plain pod.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, ensure};
use stoker_bench::finding::{Bar, Finding, Unit, seconds};
use stoker_bench::pair::alternate;

use crate::FILES;
use crate::world::World;

const POD: &str = include_str!("pod.yaml");
/// The first thing that the gateway's container does is to make this file.
const STARTED: &str = "gateway-started";
const PATIENCE: Duration = Duration::from_mins(2);

/// Measures it.
pub(crate) fn measure(world: &World<'_>) -> anyhow::Result<Vec<Finding>> {
    // Both kinds once, so that neither pays for what the node keeps afterwards.
    start(world, "warm-injected", Kind::Injected)?;
    start(world, "warm-plain", Kind::Plain)?;
    let ours = |turn| start(world, &format!("injected-{turn}"), Kind::Injected);
    let reference = |turn| start(world, &format!("plain-{turn}"), Kind::Plain);
    let series = alternate(world.pods, ours, reference)?.durations();
    let (with, without) = series.medians();
    let measured = format!("{} to {}", seconds(with), seconds(without));
    let claim = format!("pod created to gateway process, {FILES} files, beyond a plain pod");
    let bar = Bar::figure("start", claim, Unit::Milliseconds);
    let difference = series.difference() * 1e3;
    let (ours, reference) = (series.ours, series.reference);
    Ok(vec![Finding { ours, reference, ..bar.judge(difference, measured) }])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Injected,
    Plain,
}

/// Creates a pod and returns how long its gateway took to start.
fn start(world: &World<'_>, name: &str, kind: Kind) -> anyhow::Result<Duration> {
    let inject = if kind == Kind::Injected { "true" } else { "false" };
    let created = SystemTime::now();
    world.apply(&POD.replace("NAME", name).replace("INJECT", inject))?;
    let data = world.data_of(name)?;
    let started = wait_for(&data.join(STARTED))?;
    if kind == Kind::Injected {
        ensure!(data.join("projects").is_dir(), "{name} started without the files of the commit");
    }
    world.kubectl(&["delete", "pod", name, "--grace-period=1", "--timeout=60s"])?;
    started.duration_since(created).context("the clock went backwards")
}

fn wait_for(file: &Path) -> anyhow::Result<SystemTime> {
    let began = Instant::now();
    loop {
        if let Ok(metadata) = fs::metadata(file) {
            return metadata.modified().context("files have times");
        }
        ensure!(began.elapsed() < PATIENCE, "{} did not appear", file.display());
        thread::sleep(Duration::from_millis(5));
    }
}
