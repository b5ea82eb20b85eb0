//! Everything that takes part, and the order of measuring.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use stoker_bench::finding::Finding;
use stoker_bench::place::Place;
use stoker_bench::program::Program;
use stoker_bench::report::{Machine, Report};
use stoker_bench::suite::{Flags, announce};
use stoker_testkit::git::http::HttpServer;

use crate::plant::Plant;
use crate::{change, drift, first, memory, noop, volume};

/// What every measurement uses.
pub(crate) struct World {
    pub(crate) stoker: Program,
    pub(crate) git: Program,
    /// Not everybody has it; bars that need it are skipped without.
    pub(crate) rsync: Option<Program>,
    pub(crate) place: Place,
    /// Both sides are served by it.
    pub(crate) server: HttpServer,
    pub(crate) turns: usize,
}

/// Groups of bars that are measured together: their number, and how.
type Measurement = (&'static str, fn(&World, &Plant) -> anyhow::Result<Vec<Finding>>);

const MEASUREMENTS: &[Measurement] = &[
    ("no-op", noop::measure),
    ("P4", first::measure),
    ("P6", change::measure_one),
    ("P7", change::measure_many),
    ("P8", drift::measure),
    ("P11", memory::measure),
    ("P12", volume::measure),
];

/// How many files the bars speak of.
pub(crate) const FILES: usize = 50_000;

/// Measures what is wanted.
pub(crate) fn run(flags: &Flags) -> anyhow::Result<ExitCode> {
    let world = World::open(flags)?;
    eprintln!("making a repository of {FILES} files …");
    let plant = world.plant("large", FILES)?;
    let mut findings = Vec::new();
    for (id, measure) in MEASUREMENTS.iter().filter(|(id, _)| flags.wants(id)) {
        let found = measure(&world, &plant).with_context(|| format!("failed to measure {id}"))?;
        announce(&found);
        findings.extend(found);
    }
    let (machine, pairs) = (world.machine(), world.turns);
    let report = Report { suite: "engine", machine, pairs, findings };
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    flags.conclude(&report, target.context("a target directory has a parent")?)
}

impl World {
    fn open(flags: &Flags) -> anyhow::Result<Self> {
        Ok(Self {
            stoker: flags.stoker()?,
            git: Program::find("git").context("git is not installed: nothing can be measured")?,
            rsync: Program::find("rsync"),
            place: Place::make()?,
            server: HttpServer::start()?,
            turns: flags.pairs(),
        })
    }

    /// Makes and serves a repository that looks like a plant's.
    pub(crate) fn plant(&self, name: &str, files: usize) -> anyhow::Result<Plant> {
        Plant::make(&self.server, name, files)
    }

    fn machine(&self) -> Machine {
        let tools = [Some(&self.git), self.rsync.as_ref()].into_iter().flatten();
        Machine::observe(self.place.file_system().to_owned(), tools.map(Program::version).collect())
    }
}
