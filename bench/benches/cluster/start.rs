//! From the creation of a pod to its gateway's process, beside a plain pod and `stoker sync`.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::time::Duration;

use anyhow::Context as _;
use stoker_bench::finding::{Bar, Finding, Unit, seconds};
use stoker_bench::pair::{Series, alternate};
use stoker_bench::{place, program};

use crate::agent::Processes;
use crate::site::{Pod, SLEEPS, Site, start};
use crate::world::World;

/// Measures it.
pub(crate) fn measure(world: &World<'_>) -> anyhow::Result<Vec<Finding>> {
    let small = Site::plant(world, "start-100", 100)?;
    // Both kinds once, so that neither pays for what the node keeps afterwards.
    injected(world, &small, "warm-injected")?.delete(world)?;
    plain(world, "warm-plain")?;
    let mut findings = vec![beyond_plain(world, &small)?];
    let middle = Site::plant(world, "start-5000", 5_000)?;
    findings.push(absolute(world, &middle, 5_000, 5.0)?);
    Ok(findings)
}

fn injected(world: &World<'_>, site: &Site, pod: &str) -> anyhow::Result<Pod> {
    site.start(world, pod, SLEEPS)
}

fn plain(world: &World<'_>, name: &str) -> anyhow::Result<Duration> {
    let pod = start(world, name, None, SLEEPS)?;
    let took = pod.took;
    pod.delete(world)?;
    Ok(took)
}

fn claim(files: usize) -> String {
    format!("pod created to gateway process, {files} files")
}

fn beyond_plain(world: &World<'_>, site: &Site) -> anyhow::Result<Finding> {
    let ours = |turn| {
        let pod = injected(world, site, &format!("injected-{turn}"))?;
        let took = pod.took;
        pod.delete(world)?;
        Ok(took)
    };
    let reference = |turn| plain(world, &format!("plain-{turn}"));
    let series = alternate(world.turns, ours, reference)?.durations();
    let (with, without) = series.medians();
    let measured = format!("{} to {}", seconds(with), seconds(without));
    let claim = format!("{}, beyond a plain pod", claim(100));
    let bar = Bar { id: "start", claim, limit: 1500.0, unit: Unit::Milliseconds };
    let difference = series.difference() * 1e3;
    let Series { ours, reference } = series;
    Ok(Finding { ours, reference, ..bar.judge(difference, measured) })
}

fn absolute(world: &World<'_>, site: &Site, files: usize, limit: f64) -> anyhow::Result<Finding> {
    let mut times = Vec::new();
    for turn in 0..world.long_turns {
        let pod = injected(world, site, &format!("{}-{turn}", site.name))?;
        times.push(pod.took.as_secs_f64());
        pod.delete(world)?;
    }
    Ok(judge(files, limit, times))
}

fn judge(files: usize, limit: f64, ours: Vec<f64>) -> Finding {
    let series = Series { reference: Vec::new(), ours };
    let (median, _) = series.medians();
    let bar =
        Bar { id: "start", claim: claim(files), limit: limit * 1e3, unit: Unit::Milliseconds };
    let measured = format!("{} turns", series.ours.len());
    Finding { ours: series.ours, ..bar.judge(median * 1e3, measured) }
}

/// Measures 50,000 files: also beside `stoker sync` in the control group of the same agent.
pub(crate) fn measure_large(world: &World<'_>) -> anyhow::Result<Vec<Finding>> {
    const FILES: usize = 50_000;
    let site = Site::plant(world, "start-50000", FILES)?;
    let (mut whole, mut series) = (Vec::new(), Series::default());
    for turn in 0..world.long_turns {
        let without = plain(world, &format!("plain-large-{turn}"))?;
        let pod = injected(world, &site, &format!("large-{turn}"))?;
        whole.push(pod.took.as_secs_f64());
        series.ours.push(pod.took.saturating_sub(without).as_secs_f64());
        series.reference.push(sync(world, &site, &pod)?.as_secs_f64());
        pod.delete(world)?;
    }
    let claim = format!("first files in a pod with {FILES}, to stoker sync in the same cgroup");
    let ratio = Bar::ratio("start", claim, 1.2).judge_ratio(series);
    Ok(vec![judge(FILES, 40.0, whole), ratio])
}

/// A first `stoker sync` in the control group and on the network of a pod's agent, on the same
/// volume's file system.
fn sync(world: &World<'_>, site: &Site, pod: &Pod) -> anyhow::Result<Duration> {
    let agent = Processes::find("stoker-agent", &pod.uid)?;
    // Only the owner may write to the directory of a store.
    let place = pod.volumes.join("data/reference");
    DirBuilder::new().mode(0o700).create(&place).context("failed to make a place for the sync")?;
    let (data, store) = (place.join("data"), place.join("store"));
    let mut command = world.flags.stoker()?.command();
    command.args(["sync", "--create", "--repo", &site.url, "--ref", "main"]);
    command.args(["--map", "projects:projects", "--map", "config:config"]);
    command.arg("--data").arg(&data).arg("--store").arg(&store);
    let ran = program::run(&mut agent.beside(&command)?).context("stoker sync beside the agent")?;
    place::clear(&place)?;
    Ok(ran.took)
}
