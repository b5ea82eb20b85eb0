#![expect(clippy::disallowed_methods, reason = "a measurement makes files and reads the clock")]
#![expect(clippy::print_stdout, reason = "a measurement prints")]
#![expect(clippy::unwrap_used, reason = "a measurement that fails is no measurement")]
//! Times of the engine alone, from a working directory in memory: first sync, one changed file,
//! 500 changed files, nothing changed, drift by stat and by content.
//!
//! `cargo run --release -p stoker-sync --example measure -- DIR [FILES] [DIRECTORIES]`

use std::path::Path;
use std::time::{Duration, Instant};

use stoker_sync::request::{Deletion, DriftCheck, Mapping};
use stoker_sync::{Cancel, Engine, Missing, Opened, Options, RelPath, Request, WorkDir};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let scratch = arguments.next().unwrap_or_else(|| "/dev/shm/stoker-measure".into());
    let files = arguments.next().map_or(50_000, |files| files.parse().unwrap());
    let dirs = arguments.next().map_or(20, |dirs| dirs.parse().unwrap());
    let scratch = Path::new(&scratch);
    let work = scratch.join("work");
    for file in 0..files {
        write(&work, file, dirs, 0);
    }
    let mut bench = Bench::new(scratch);
    bench.run("first sync", DriftCheck::Touched);
    bench.run("nothing, no drift check", DriftCheck::Touched);
    bench.run("drift by stat", DriftCheck::Stat);
    bench.run("drift by content", DriftCheck::Content);
    for round in 1..=3 {
        write(&work, files / 2, dirs, round);
        bench.run("1 changed", DriftCheck::Touched);
    }
    for file in 0..500.min(files) {
        write(&work, file * files / 500.min(files), dirs, 4);
    }
    bench.run("500 changed", DriftCheck::Touched);
    bench.reopen();
    std::fs::remove_dir_all(scratch).unwrap();
}

fn write(work: &Path, file: usize, dirs: usize, round: usize) {
    let dir = work.join(format!("p/d{}", file % dirs));
    std::fs::create_dir_all(&dir).unwrap();
    let line = format!("file {file} round {round}\n");
    std::fs::write(dir.join(format!("view-{file}.json")), line.repeat(4096 / line.len())).unwrap();
}

/// The CPU time of this thread: on a busy machine the wall clock means little.
fn cpu_time() -> Duration {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanoseconds = schedstat.split(' ').next().unwrap().parse().unwrap();
    Duration::from_nanos(nanoseconds)
}

struct Bench {
    options: Options,
    source: WorkDir,
}

impl Bench {
    fn new(scratch: &Path) -> Self {
        let options = Options {
            data: scratch.join("data"),
            missing: Missing::Create,
            lock_timeout: Duration::ZERO,
            follow: Vec::new(),
        };
        let source = WorkDir::open(&scratch.join("work"), Vec::new(), &Cancel::default()).unwrap();
        Self { options, source }
    }

    fn run(&mut self, what: &str, check: DriftCheck) {
        let cancel = Cancel::default();
        let commit = self.source.scan().unwrap().to_string();
        let part = |path| RelPath::parse(path).unwrap();
        let mapping = Mapping::new(part("p"), part("projects"));
        let mut request = Request::new(commit, vec![mapping]);
        request.drift_check = check;
        request.deletion = Deletion::Unlimited;
        let cpu = cpu_time();
        let begin = Instant::now();
        let mut engine = Engine::open(&self.options, &cancel).and_then(Opened::finish).unwrap();
        let opened = begin.elapsed();
        let plan = engine.plan(&mut self.source, &request, &cancel).unwrap();
        let planned = begin.elapsed();
        let written = engine.write(plan, &mut self.source, &cancel).unwrap();
        let wrote = begin.elapsed();
        let report = written.apply(&mut || {}).unwrap();
        let total = begin.elapsed();
        println!(
            "{what:24} cpu {:>9.3?}  total {:>9.3?}  open {:>9.3?}  plan {:>9.3?}  write {:>9.3?}  apply {:>9.3?}  \
             ({} changed, {} same)",
            cpu_time().checked_sub(cpu).unwrap(),
            total,
            opened,
            planned.checked_sub(opened).unwrap(),
            wrote.checked_sub(planned).unwrap(),
            total.checked_sub(wrote).unwrap(),
            report.added.count + report.modified.count,
            report.unchanged,
        );
    }

    fn reopen(&mut self) {
        let state = std::fs::read_dir(self.options.data.join(".stoker")).unwrap();
        for entry in state.map(|entry| entry.unwrap()) {
            println!("{} {} bytes", entry.file_name().display(), entry.metadata().unwrap().len());
        }
    }
}
