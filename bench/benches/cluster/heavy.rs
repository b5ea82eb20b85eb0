//! P11: a repository with a pack of 500 MB, with an agent that may use 128 MiB.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use stoker_bench::finding::{Bar, Finding, Unit};
use stoker_bench::heavy::{self, mebibytes};

use crate::agent::Processes;
use crate::site::{SLEEPS, Site};
use crate::world::World;

const AGENT: &str =
    "{resources: {requests: {cpu: 50m, memory: 64Mi}, limits: {cpu: \"1\", memory: 128Mi}}}";
const POD: &str = "heavy";
/// How often the memory in use is read.
const PAUSE: Duration = Duration::from_millis(100);

/// Measures it.
pub(crate) fn measure(world: &World<'_>) -> anyhow::Result<Vec<Finding>> {
    let tens = if world.is_quick { 5 } else { 50 };
    let site = Site::new(world, "heavy", heavy::tree(tens), AGENT)?;
    let ended = AtomicBool::new(false);
    let (pod, peak) = thread::scope(|scope| {
        let watching = scope.spawn(|| watch(world, &ended));
        let pod = site.start(world, POD, SLEEPS);
        ended.store(true, Ordering::Relaxed);
        (pod, watching.join().unwrap_or_default())
    });
    let pod = pod?;
    let agent = Processes::find("stoker-agent", &pod.uid)?;
    let kills = agent.memory(["memory.oom_control", "memory.events"])?;
    let is_killed = !kills.lines().any(|line| line == "oom_kill 0");
    let log = world.kubectl(&["logs", POD, "--container=stoker-agent"])?;
    let is_restarted = log.contains("the worker ended");
    let claim = format!(
        "first sync of a {} MB pack inside 128 MiB: memory that can't be given back",
        tens * 10
    );
    let bar = Bar { id: "P11", claim, limit: 96.0, unit: Unit::Mebibytes };
    let took = pod.took.as_secs_f64();
    pod.delete(world)?;
    if is_killed || is_restarted {
        let measured = format!("killed for memory: {is_killed}, worker restarted: {is_restarted}");
        return Ok(vec![bar.judge(f64::INFINITY, measured)]);
    }
    Ok(vec![bar.judge(mebibytes(peak), format!("pod to gateway in {took:.1} s, nothing killed"))])
}

/// Returns the most anonymous memory that the agent's container had, until this is over.
fn watch(world: &World<'_>, ended: &AtomicBool) -> u64 {
    let mut peak = 0;
    let mut uid = String::new();
    while !ended.load(Ordering::Relaxed) {
        thread::sleep(PAUSE);
        if uid.is_empty() {
            let path = "--output=jsonpath={.metadata.uid}";
            uid = world.kubectl(&["get", "pod", POD, path]).unwrap_or_default();
            continue;
        }
        let statistics = Processes::find("stoker-agent", &uid)
            .and_then(|agent| agent.memory(["memory.stat", "memory.stat"]));
        peak = peak.max(anonymous(&statistics.unwrap_or_default()));
    }
    peak
}

/// Finds the anonymous memory in `memory.stat`, by version of control groups.
fn anonymous(statistics: &str) -> u64 {
    let value = |name: &str| {
        let line = statistics.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|value| value.trim().parse().ok())
    };
    value("total_rss ").or_else(|| value("anon ")).unwrap_or_default()
}
