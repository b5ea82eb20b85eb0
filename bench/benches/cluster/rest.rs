//! At rest: P1, what an agent does when there is nothing to do; P10, the memory that it keeps.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use stoker_bench::finding::{Bar, Finding, Unit};
use stoker_testkit::quickstart::{NAMESPACE, OPERATOR_NAMESPACE};

use crate::agent::Processes;
use crate::world::{Gateway, World, printed};

const AGENT: &str = "stoker-agent";
/// The rest is observed in so many parts: all files are checked in at most two of them.
const PARTS: u32 = 10;

const SETTLE: Duration = Duration::from_secs(30);

/// Measures it.
pub(crate) fn measure(world: &World<'_>) -> anyhow::Result<Vec<Finding>> {
    let gateways = world.gateways()?;
    // What the last sync set off comes to its end.
    thread::sleep(SETTLE);
    eprintln!("resting for {} s …", world.rest.as_secs());
    let requests = Requests::begin(world)?;
    let parts = (0..PARTS).map(|_| observe(&gateways[0], world.rest / PARTS));
    let parts = parts.collect::<anyhow::Result<Vec<_>>>()?;
    let asked = requests.count()?;
    let agents = f64::from(u32::try_from(gateways.len())?);
    let minutes = world.rest.as_secs_f64() / 60.0;
    let mut findings = vec![
        Bar {
            id: "P1",
            claim: "requests of an agent a minute".into(),
            limit: 0.1,
            unit: Unit::Count,
        }
        .judge(
            asked / agents / minutes,
            format!("{asked} of {agents} agents in {minutes} minutes"),
        ),
        judge_part(
            "processes and threads started a minute",
            0.0,
            Unit::Count,
            parts.iter().map(|part| part.started),
        ),
        judge_part(
            "processor time a minute",
            3.0,
            Unit::Milliseconds,
            parts.iter().map(|part| part.busy),
        ),
    ];
    for gateway in gateways {
        findings.push(memory(world, gateway)?);
    }
    findings.push(operator(world)?);
    Ok(findings)
}

/// What an agent did in a part of the rest, as it would be in a minute.
struct Part {
    started: f64,
    busy: f64,
}

fn observe(gateway: &Gateway, time: Duration) -> anyhow::Result<Part> {
    let agent = Processes::find(AGENT, &gateway.pod.uid)?;
    let number = agent.last_number()?;
    let busy = agent.processor_time()?;
    thread::sleep(time);
    let busy = agent.processor_time()?.saturating_sub(busy);
    // One is ours: the question.
    let started = agent.last_number()?.saturating_sub(number + 1);
    let minutes = time.as_secs_f64() / 60.0;
    let started = f64::from(u32::try_from(started)?) / minutes;
    Ok(Part { started, busy: busy.as_secs_f64() * 1e3 / minutes })
}

/// Judges the median: between two checks of all files nothing should happen.
fn judge_part(claim: &str, limit: f64, unit: Unit, values: impl Iterator<Item = f64>) -> Finding {
    let mut ours: Vec<f64> = values.collect();
    ours.sort_by(f64::total_cmp);
    let (median, most) = (ours[ours.len() / 2], ours[ours.len() - 1]);
    let bar = Bar { id: "P1", claim: claim.to_owned(), limit, unit };
    let measured = format!("median of {} parts, most {}", ours.len(), unit.show(most));
    Finding { ours, ..bar.judge(median, measured) }
}

fn memory(world: &World<'_>, gateway: &Gateway) -> anyhow::Result<Finding> {
    let agent = Processes::find(AGENT, &gateway.pod.uid)?;
    let (rest, files) = (world.rest.as_secs(), gateway.files);
    let claim = format!("agent, both processes, {rest} s after the last sync of {files} files");
    let limit = if files > 1_000 { 12.0 } else { 10.0 };
    let bar = Bar { id: "P10", claim, limit, unit: Unit::Mebibytes };
    Ok(bar.judge(agent.pss()?, format!("Pss of {} processes", agent.count())))
}

fn operator(world: &World<'_>) -> anyhow::Result<Finding> {
    let mut kubectl = world.quickstart.node().cluster().kubectl();
    kubectl.args(["--namespace", OPERATOR_NAMESPACE, "get", "pods"]);
    let uids = printed(kubectl.arg("--output=jsonpath={.items[*].metadata.uid}"))?;
    let mut largest: f64 = 0.0;
    for uid in uids.split_whitespace() {
        largest = largest.max(Processes::find("stoker-operator", uid)?.pss()?);
    }
    let bar = Bar::figure("memory", "operator, largest replica, at rest", Unit::Mebibytes);
    Ok(bar.judge(largest, format!("{} replicas", uids.split_whitespace().count())))
}

/// The requests of agents, by the API server's audit log.
struct Requests {
    log: BufReader<File>,
}

impl Requests {
    /// Counts from here on.
    fn begin(world: &World<'_>) -> anyhow::Result<Self> {
        let file = world.quickstart.node().cluster().directory().join("audit.log");
        let mut log =
            File::open(&file).with_context(|| format!("no audit log {}", file.display()))?;
        log.seek(SeekFrom::End(0))?;
        Ok(Self { log: BufReader::new(log) })
    }

    fn count(self) -> anyhow::Result<f64> {
        let user = format!("system:serviceaccount:{NAMESPACE}:default");
        let mut count = 0_u32;
        for line in self.log.lines() {
            let event: serde_json::Value = serde_json::from_str(&line?)?;
            // A watch has a second line when it ends.
            let stage =
                if event["verb"] == "watch" { "ResponseStarted" } else { "ResponseComplete" };
            count +=
                u32::from(event["user"]["username"] == user.as_str() && event["stage"] == stage);
        }
        Ok(f64::from(count))
    }
}
