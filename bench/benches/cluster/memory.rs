//! Memory at rest: the sum of Pss of every process of a program.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::Context as _;
use stoker_bench::finding::{Bar, Finding, Unit};
use stoker_testkit::quickstart::{NAMESPACE, OPERATOR_NAMESPACE};

use crate::world::{World, printed};

const KIB_PER_MIB: f64 = 1024.0;

/// Measures it.
pub(crate) fn measure(world: &World<'_>) -> anyhow::Result<Vec<Finding>> {
    eprintln!("resting for {} s …", world.rest.as_secs());
    thread::sleep(world.rest);
    let agents = in_pods(world, NAMESPACE, "stoker-agent")?;
    let operators = in_pods(world, OPERATOR_NAMESPACE, "stoker-operator")?;
    let seconds = world.rest.as_secs();
    let claim = format!("agent, both processes, {seconds} s after the last sync");
    let bar = Bar { id: "memory", claim, limit: 16.0, unit: Unit::Mebibytes };
    let claim = format!("operator, largest replica, {seconds} s after the last sync");
    let figure = Bar::figure("memory", claim, Unit::Mebibytes);
    Ok(vec![judge(bar, &agents), judge(figure, &operators)])
}

/// A pod's processes of one program.
struct Usage {
    processes: usize,
    pss: f64,
}

fn judge(bar: Bar, pods: &[Usage]) -> Finding {
    let Some(largest) = pods.iter().max_by(|left, right| left.pss.total_cmp(&right.pss)) else {
        return bar.skip("no such process runs");
    };
    let measured = format!("{} pods, {} processes each", pods.len(), largest.processes);
    bar.judge(largest.pss, measured)
}

/// One entry for each pod of the namespace that runs the program.
fn in_pods(world: &World<'_>, namespace: &str, program: &str) -> anyhow::Result<Vec<Usage>> {
    let mut kubectl = world.quickstart.node().cluster().kubectl();
    kubectl.args(["--namespace", namespace, "get", "pods"]);
    let uids = printed(kubectl.arg("--output=jsonpath={.items[*].metadata.uid}"))?;
    let mut usages = Vec::new();
    for uid in uids.split_whitespace() {
        let processes: Vec<_> = processes(program, uid)?;
        let pss = processes.iter().map(|process| pss(process)).sum::<anyhow::Result<f64>>()?;
        if !processes.is_empty() {
            usages.push(Usage { processes: processes.len(), pss: pss / KIB_PER_MIB });
        }
    }
    Ok(usages)
}

/// Processes whose program has this name, in the control group of this pod.
fn processes(program: &str, pod: &str) -> anyhow::Result<Vec<PathBuf>> {
    let all = fs::read_dir("/proc").context("failed to list processes")?;
    let belongs = |process: &PathBuf| {
        // Not by its name: the agent's worker has another one than its supervisor.
        let file = fs::read_link(process.join("exe")).unwrap_or_default();
        let groups = fs::read_to_string(process.join("cgroup")).unwrap_or_default();
        file.ends_with(program) && groups.contains(pod)
    };
    Ok(all.flatten().map(|entry| entry.path()).filter(belongs).collect())
}

/// The proportional set size in KiB.
fn pss(process: &Path) -> anyhow::Result<f64> {
    let file = process.join("smaps_rollup");
    let text =
        fs::read_to_string(&file).with_context(|| format!("failed to read {}", file.display()))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.context("smaps_rollup has Pss")?.parse().context("Pss is a number")
}
