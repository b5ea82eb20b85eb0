//! P17: the receiver of push events, against a real API server.
//!
//! The operator runs as the webhook's half of an installation does, on loopback and without a limit
//! of failures. The senders share the machine with it, so what they get through is a lower bound.

mod load;
mod world;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser as _;
use stoker_bench::finding::{Bar, Finding, Unit};
use stoker_bench::report::{Machine, Report};
use stoker_bench::suite::{Flags, announce};

use load::{Load, Slow};
use world::World;

/// Bytes of a push event, as GitHub sends it for a few commits.
const BODY: usize = 10 * 1024;
/// Connections that send at the same time.
const SENDERS: usize = 16;
/// Connections that hang.
const SLOW: usize = 1000;
/// How many bytes of its body a slow sender has sent.
const BEGUN: usize = 2048;

fn main() -> anyhow::Result<ExitCode> {
    let flags = Flags::parse();
    let time = if flags.quick { Duration::from_secs(2) } else { Duration::from_secs(10) };
    let world = World::start(flags.stoker.as_deref())?;
    let mut findings = valid(&world, time)?;
    announce(&findings);
    let rejected = [
        rejected(&world, time, 20_000, ("without a signature", Load::unsigned(BODY)))?,
        rejected(&world, time, 10_000, ("with a wrong signature", Load::signed("wrong", BODY)))?,
    ];
    announce(&rejected);
    findings.extend(rejected);
    let flooded = flooded(&world, time)?;
    announce(&flooded);
    findings.extend(flooded);
    let machine = Machine::observe("loopback".to_owned(), vec!["Kubernetes 1.34".to_owned()]);
    let report = Report { suite: "receiver", machine, pairs: 1, findings };
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    flags.conclude(&report, target.context("a target directory has a parent")?)
}

/// Judges a rate: what is wanted by what was measured, so that less is better.
fn rate(claim: &str, wanted: u32, measured: f64) -> Finding {
    let bar = Bar::ratio("P17", format!("{claim}, {wanted}/s by measured"), 1.0);
    bar.judge(f64::from(wanted) / measured, format!("{measured:.0}/s"))
}

/// Valid push events to one branch, and how often the API server hears of them.
fn valid(world: &World, time: Duration) -> anyhow::Result<Vec<Finding>> {
    let load = Load::signed(world::KEY, BODY);
    let writes = world.count_writes()?;
    let sent = load.send(world.address(), 202, SENDERS, time)?;
    let count = writes.stop(load::PAUSE)?;
    let per_second = Bar {
        id: "P17",
        claim: "writes to the API server per second and GatewaySync".to_owned(),
        limit: 1.0,
        unit: Unit::Ratio,
    };
    // The first is written at once, the last within a second of the end.
    let seconds = sent.took.as_secs_f64() + 1.0;
    #[expect(clippy::cast_precision_loss, reason = "a few writes")]
    let value = count.saturating_sub(1) as f64 / seconds;
    let measured = format!("{count} in {seconds:.1} s, {} push events", sent.count);
    let rate = rate("valid 10 KiB push events", 5000, sent.per_second());
    Ok(vec![rate, per_second.judge(value, measured)])
}

fn rejected(
    world: &World,
    time: Duration,
    wanted: u32,
    (claim, load): (&str, Load),
) -> anyhow::Result<Finding> {
    let sent = load.send(world.address(), 401, SENDERS, time)?;
    Ok(rate(&format!("rejections {claim}"), wanted, sent.per_second()))
}

/// What the process takes while many connections hang, and whether others get through.
fn flooded(world: &World, time: Duration) -> anyhow::Result<Vec<Finding>> {
    let load = Load::signed(world::KEY, BODY);
    let slow = Slow::open(world.address(), &load, SLOW, BEGUN)?;
    let sent = load.send(world.address(), 202, SENDERS, time.min(Duration::from_secs(5)))?;
    let memory = world.memory()?;
    let hanging = slow.count_open();
    anyhow::ensure!(hanging == SLOW, "only {hanging} of {SLOW} slow connections still hang");
    let bar = Bar {
        id: "P17",
        claim: format!("memory while {SLOW} slow connections hang"),
        limit: 48.0,
        unit: Unit::Mebibytes,
    };
    let claim = format!("valid push events beside {SLOW} slow connections per second");
    let figure = Bar::figure("P17", claim, Unit::Count);
    let per_second = sent.per_second();
    Ok(vec![
        bar.judge(memory, "resident set".to_owned()),
        figure.judge(per_second, format!("{} in all", sent.count)),
    ])
}
