//! The worker is killed in the middle of a sync of 5,000 files, by a signal and by the kernel for
//! want of memory. Afterwards all files are of one commit, and the gateway never left its Service.

use std::fs;
use std::path::{Path, PathBuf};

use stoker_testkit::git::{Edit, Tree};
use stoker_testkit::node::signal;
use stoker_testkit::wait::eventually;

use super::{CONTAINERS, World};

const FILES: u32 = 5000;
/// Since when the pod is ready: it changes with every change of readiness.
const READY_SINCE: &str = "{.status.conditions[?(@.type=='Ready')].lastTransitionTime}";

// A1, A2, R14, R27, S5: killed mid-sync by SIGKILL and by the kernel.
#[test]
fn c04_a_worker_killed_mid_sync_mixes_no_files_and_the_gateway_stays_in_service() {
    let Some(world) = super::world() else { return };
    world.fresh_pod();
    sync(&world, "first", |_| {});
    let restarts = || CONTAINERS.map(|(list, name)| world.restarts(list, name));
    let before = (world.pod(READY_SINCE), restarts());
    sync(&world, "by a signal", |worker| signal(worker, "KILL"));
    sync(&world, "for want of memory", run_out_of_memory);
    assert_eq!((world.pod(READY_SINCE), restarts()), before, "the pod was ready all the time");
}

/// Brings a commit of 5,000 files, does something to the worker in the middle of it, and claims
/// that all files arrive.
fn sync(world: &World, content: &str, interrupt: impl Fn(u32)) {
    let tree = (0..FILES).fold(Tree::new(), |tree, number| tree.file(path(number), content));
    let commit = world.quickstart.repo().commit(Edit::put(tree)).unwrap().to_string();
    eventually("files are being written", || is_writing(&world.data));
    for worker in World::agent("worker") {
        interrupt(worker);
    }
    eventually("the commit arrives", || world.gateway("syncedCommit") == commit);
    let read = |number| fs::read_to_string(world.data.join(path(number))).unwrap_or_default();
    let mixed = (0..FILES).filter(|number| read(*number) != content).count();
    assert_eq!((mixed, is_writing(&world.data)), (0, false), "{content}");
    world.wait_synced();
}

fn path(number: u32) -> String {
    format!("projects/line-{}/resources/r{number}.json", number % 20)
}

/// Says whether a run is writing files, which wait in this directory until all are there.
fn is_writing(data: &Path) -> bool {
    fs::read_dir(data.join(".sync-staging")).is_ok_and(|mut staged| staged.next().is_some())
}

/// Lowers the memory limit of the agent's container until the kernel has killed the worker.
fn run_out_of_memory(worker: u32) {
    let (limit, usage) = memory_files(worker);
    let before = fs::read_to_string(&limit).unwrap();
    let is_alive = || Path::new(&format!("/proc/{worker}/environ")).exists();
    eventually("the kernel kills the worker", || {
        let used: u64 = fs::read_to_string(&usage).unwrap().trim().parse().unwrap();
        // Refused where nothing can be reclaimed: then the next allocation is one too many.
        fs::write(&limit, (used / 10 * 9).to_string()).ok();
        fs::write(&limit, used.to_string()).ok();
        !is_alive()
    });
    fs::write(&limit, before.trim()).unwrap();
}

/// The files with limit and usage of a process's memory group, by version of cgroups.
fn memory_files(process: u32) -> (PathBuf, PathBuf) {
    let groups = fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap();
    let of_controller = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        (fields.next() == Some("memory")).then(|| fields.next().unwrap_or_default().to_owned())
    };
    if let Some(group) = groups.lines().find_map(of_controller) {
        let group = Path::new("/sys/fs/cgroup/memory").join(group.trim_start_matches('/'));
        return (group.join("memory.limit_in_bytes"), group.join("memory.usage_in_bytes"));
    }
    let group = groups.trim().trim_start_matches("0::/");
    let group = Path::new("/sys/fs/cgroup").join(group);
    // Here the kubelet asks the kernel to kill all processes of the container; this claim is about
    // the worker alone.
    fs::write(group.join("memory.oom.group"), "0").unwrap();
    (group.join("memory.max"), group.join("memory.current"))
}
