//! The controller with a whole fleet: how soon it is current, what it costs, what it asks for.
//!
//! The API server and git are real. Agents are simulated: their reports are written by this process,
//! and at rest each of them is one watch that is renewed every 20 to 25 minutes.

mod fleet;
mod flood;
mod idle;
mod operator;
mod rest;
mod restart;
mod stall;
mod stop;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser as _;
use stoker_bench::place;
use stoker_bench::report::{Machine, Report};
use stoker_bench::suite::{Flags, announce};
use stoker_testkit::cluster::{Cluster, Kind};

use fleet::Fleet;

/// How much of everything there is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) syncs: usize,
    /// Gateways of each GatewaySync.
    pub(crate) gateways: usize,
    /// Pods and Secrets that do not concern Stoker.
    pub(crate) foreign: (usize, usize),
    /// How long the fleet is watched at rest.
    pub(crate) rest: Duration,
    /// Gateways that report at once.
    pub(crate) flood: usize,
    /// Remotes that never answer.
    pub(crate) hung: usize,
    /// Pushes whose reaction is measured, with and without those.
    pub(crate) pushes: usize,
}

const WHOLE: Size = Size {
    syncs: 1000,
    gateways: 10,
    foreign: (20_000, 5000),
    rest: Duration::from_mins(3),
    flood: 1000,
    hung: 50,
    pushes: 300,
};
const QUICK: Size = Size {
    syncs: 40,
    gateways: 3,
    foreign: (400, 100),
    rest: Duration::from_secs(20),
    flood: 100,
    hung: 10,
    pushes: 30,
};

fn main() -> anyhow::Result<ExitCode> {
    place::move_to_tmpfs()?;
    let runtime = tokio::runtime::Runtime::new().context("failed to start the runtime")?;
    runtime.block_on(measure(&Flags::parse()))
}

async fn measure(flags: &Flags) -> anyhow::Result<ExitCode> {
    let size = if flags.quick { QUICK } else { WHOLE };
    let cluster = Cluster::connect(Kind::ControlPlane).context("no cluster can run here")?;
    let mut fleet = Fleet::prepare(&cluster, flags, size).await?;
    let mut findings = Vec::new();
    // The small ones first: each finds the cluster as those before left it.
    for part in Part::ALL {
        if !flags.wants(part.name()) {
            continue;
        }
        let found = match part {
            Part::Idle => idle::measure(&mut fleet).await,
            Part::Stall => stall::measure(&fleet).await,
            Part::Flood => flood::measure(&fleet).await,
            Part::Stop => stop::measure(&mut fleet).await,
            Part::Restart => restart::measure(&mut fleet).await,
            Part::Rest => rest::measure(&mut fleet).await,
        };
        let found = found.with_context(|| part.name())?;
        announce(&found);
        findings.extend(found);
    }
    anyhow::ensure!(!findings.is_empty(), "no such part; there are: {}", Part::names());
    let machine = Machine::observe("tmpfs".to_owned(), vec!["Kubernetes 1.34".to_owned()]);
    let report = Report { suite: "fleet", machine, pairs: 1, findings };
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    flags.conclude(&report, target.context("a target directory has a parent")?)
}

/// What can be measured on its own, in a few minutes each.
#[derive(Debug, Clone, Copy)]
enum Part {
    Idle,
    Stall,
    Flood,
    Stop,
    Restart,
    Rest,
}

impl Part {
    const ALL: [Self; 6] =
        [Self::Idle, Self::Stall, Self::Flood, Self::Stop, Self::Restart, Self::Rest];

    fn name(self) -> &'static str {
        match self {
            Self::Idle => "P19 idle",
            Self::Stall => "P23 stall",
            Self::Flood => "P22 flood",
            Self::Stop => "stop",
            Self::Restart => "P18 P19 restart",
            Self::Rest => "P20 P21 at-rest",
        }
    }

    fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}
