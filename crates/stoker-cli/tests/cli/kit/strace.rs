//! Runs under strace: which calls a run makes, and what it does when one of them is its last, or
//! fails.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use stoker_testkit::process::find_program;
use stoker_testkit::skip;

use super::world::{Run, STOKER, World, is_long};

/// Calls that change a disk, or speak to a gateway; what a program does not use costs nothing here.
pub(crate) const CHANGING: &str = "connect,sendto,openat,openat2,mkdir,mkdirat,write,pwrite64,writev,copy_file_range,\
                        sendfile,ftruncate,fallocate,fchmod,fchmodat,chmod,fchown,fsync,fdatasync,syncfs,\
                        sync_file_range,rename,renameat,renameat2,link,linkat,symlinkat,unlink,\
                        unlinkat,rmdir,utimensat,flock";

/// Killed by SIGKILL, as a shell would say it.
pub(crate) const KILLED: i32 = 137;

/// One call to strike at: the n-th of its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Point {
    pub(crate) call: String,
    pub(crate) number: usize,
}

/// How often a point was reached. A run that has to wait for git makes a few calls more or less, so
/// that some points are missed.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    struck: AtomicUsize,
    missed: AtomicUsize,
}

impl Tally {
    /// Takes the exit code of a run that was to be killed at a point.
    #[track_caller]
    pub(crate) fn note(&self, code: i32, point: &Point) {
        let side = match code {
            KILLED => &self.struck,
            0 => &self.missed,
            _ => panic!("exit {code} when killed at {point:?}"),
        };
        side.fetch_add(1, Ordering::Relaxed);
    }

    /// If most points were missed, the rest proves little.
    #[track_caller]
    pub(crate) fn proves_something(&self) {
        let [struck, missed] =
            [&self.struck, &self.missed].map(|side| side.load(Ordering::Relaxed));
        assert!(struck > 4 * missed, "{missed} points were missed, {struck} were not");
    }
}

/// The changing calls of a traced run, in order; `concerns` chooses by the traced line.
pub(crate) fn points(trace: &Path, concerns: impl Fn(&str) -> bool) -> Vec<Point> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut points = Vec::new();
    for line in fs::read_to_string(trace).unwrap().lines() {
        let Some((call, _)) = line.split_once('(') else { continue };
        if !CHANGING.split(',').any(|known| known == call) {
            continue;
        }
        let count = counts.entry(call.to_owned()).or_default();
        *count += 1;
        if concerns(line) {
            points.push(Point { call: call.to_owned(), number: *count });
        }
    }
    points
}

/// All of them, or of each call the first, the last and some between.
pub(crate) fn sample(points: &[Point], most_per_call: usize) -> Vec<Point> {
    if is_long() { points.to_vec() } else { spread(points, most_per_call) }
}

/// A sample, ten times as large where the full matrices are asked for.
pub(crate) fn wide_sample(points: &[Point], most_per_call: usize) -> Vec<Point> {
    spread(points, if is_long() { most_per_call * 10 } else { most_per_call })
}

fn spread(points: &[Point], most_per_call: usize) -> Vec<Point> {
    let calls: BTreeSet<&String> = points.iter().map(|point| &point.call).collect();
    let choose = |call: &String| {
        let all: Vec<&Point> = points.iter().filter(|point| &point.call == call).collect();
        let steps = all.len().min(most_per_call);
        let at = move |step: usize| (step * (all.len() - 1)).checked_div(steps - 1).unwrap_or(0);
        let chosen: BTreeSet<usize> = (0..steps).map(at).collect();
        let all: Vec<&Point> = points.iter().filter(|point| &point.call == call).collect();
        chosen.into_iter().map(|index| all[index].clone()).collect::<Vec<_>>()
    };
    calls.into_iter().flat_map(choose).collect()
}

/// Tries every case, in the full matrix on all cores at once; each core has a state of its own.
pub(crate) fn each<Case: Sync, State>(
    cases: &[Case],
    begin: impl Fn() -> State + Sync,
    trial: impl Fn(&State, &Case) + Sync,
) {
    let cores = if is_long() { thread::available_parallelism().map_or(1, usize::from) } else { 1 };
    let next = AtomicUsize::new(0);
    let work = || {
        let state = begin();
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            trial(&state, case);
        }
    };
    thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));
}

/// Pairs the points of the way there with those of the way back; none is left out.
pub(crate) fn there_and_back(there: &[Point], back: &[Point]) -> Vec<(Point, Point)> {
    let most = there.len().max(back.len());
    let pairs = there.iter().cycle().zip(back.iter().cycle()).take(most);
    pairs.map(|(there, back)| (there.clone(), back.clone())).collect()
}

/// Runs the program under strace: its first thread is the one that touches disks.
pub(crate) fn traced(world: &World, options: &[&str], words: Vec<OsString>) -> Run {
    let mut all: Vec<OsString> = vec!["-qq".into()];
    all.extend(options.iter().map(OsString::from));
    all.push(STOKER.into());
    all.extend(words);
    Run::ended(world.command("strace", all))
}

/// Which changing calls a run makes. The run happens.
pub(crate) fn learn(
    world: &World,
    words: Vec<OsString>,
    concerns: impl Fn(&str) -> bool,
) -> Vec<Point> {
    let trace = world.path("trace");
    let options = ["-y", "-o", trace.to_str().unwrap(), "-e", &format!("trace={CHANGING}")];
    traced(world, &options, words).exits(0);
    points(&trace, concerns)
}

/// Runs until a point, and strikes there.
pub(crate) fn strike(world: &World, words: Vec<OsString>, point: &Point, how: &str) -> Run {
    let Point { call, number } = point;
    let (trace, inject) = (format!("trace={call}"), format!("inject={call}:{how}:when={number}"));
    traced(world, &["-o", "/dev/null", "-e", &trace, "-e", &inject], words)
}

/// Whether processes can be traced here at all.
pub(crate) fn can_trace(world: &World) -> bool {
    let works = find_program("strace".as_ref()).is_ok()
        && Run::ended(world.command("strace", ["-qq", "-o", "/dev/null", "true"])).code == 0;
    if !works {
        skip::record("strace can't trace here");
    }
    works
}

/// A `git` first on the path that runs the real one under strace.
fn traced_git(world: &World, options: &str) -> String {
    let git = find_program("git".as_ref()).unwrap();
    let strace = find_program("strace".as_ref()).unwrap();
    let bin = world.path("bin");
    fs::create_dir_all(&bin).unwrap();
    let (strace, git) = (strace.display(), git.display());
    let script = format!("#!/bin/sh\nexec {strace} -qq -f {options} {git} \"$@\"\n");
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
}

/// Runs the program with a git that is traced so.
pub(crate) fn with_traced_git(world: &World, options: &str, words: Vec<OsString>) -> Run {
    let mut command = world.command(STOKER, words);
    command.env("PATH", traced_git(world, options));
    Run::ended(command)
}

/// The processes of this world that run a program of this name.
pub(crate) fn processes(world: &World, program: &str) -> Vec<rustix::process::Pid> {
    let root = world.root().to_str().unwrap().as_bytes();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(number) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
        let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
        let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        // The kernel keeps 15 bytes of a name.
        let is_it = name.trim_end() == &program[..program.len().min(15)];
        if is_it && environ.windows(root.len()).any(|window| window == root) {
            found.extend(rustix::process::Pid::from_raw(number));
        }
    }
    found
}
