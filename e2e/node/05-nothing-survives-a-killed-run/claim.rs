//! Whoever holds a cluster may be killed: nothing of it is left, neither process nor mount nor
//! file.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use stoker_testkit::node::succeed;
use stoker_testkit::program::{self, Program};
use stoker_testkit::wait::eventually;

/// A cluster of its own, as `cargo xtask cluster --node` would start it.
struct Run {
    holder: Child,
    kubeconfig: PathBuf,
    directory: PathBuf,
    /// Kept open: the program would end on its own if it could not print.
    _output: BufReader<ChildStdout>,
}

impl Run {
    fn start() -> Self {
        let mut holder = Command::new(stoker_testkit::cluster::program())
            .args(["up", "--node"])
            .env("STOKER_CLUSTER", format!("killed-{}", std::process::id()))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(holder.stdout.take().unwrap());
        let mut lines = output.by_ref().lines().map_while(Result::ok);
        let kubeconfig = lines.find_map(|line| Some(line.split_once("KUBECONFIG=")?.1.to_owned()));
        let kubeconfig = PathBuf::from(kubeconfig.expect("it says how to reach the cluster"));
        let directory = kubeconfig.ancestors().nth(2).unwrap().to_owned();
        Self { holder, kubeconfig, directory, _output: output }
    }

    fn kubectl(&self, words: &str) -> String {
        let mut command = Command::new(program::locate(Program::Kubectl).unwrap());
        succeed(command.arg("--kubeconfig").arg(&self.kubeconfig).args(words.split(' ')))
    }
}

#[test]
fn c05_killing_the_run_leaves_no_process_mount_group_or_file() {
    if super::node().is_none() {
        return;
    }
    let mut run = Run::start();
    run.kubectl("run busy --image=stoker.test/pause:1");
    run.kubectl("wait --for=condition=Ready pod/busy --timeout=60s");
    assert!(processes_of(&run.directory) > 8, "etcd, API server, kubelet, containerd and more");
    assert!(groups_of(&run.directory) > 0);

    run.holder.kill().unwrap();
    run.holder.wait().unwrap();

    eventually("the keeper removes the cluster's directory", || !run.directory.exists());
    // The keeper itself is the last to go.
    eventually("no process is left", || processes_of(&run.directory) == 0);
    assert_eq!(groups_of(&run.directory), 0);
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(run.directory.to_str().unwrap()));
}

/// Processes that were started with a path of the cluster in their arguments, or work inside it.
fn processes_of(directory: &Path) -> usize {
    let name = directory.to_str().unwrap();
    let mentions = |process: &Path| {
        let arguments = fs::read(process.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(name)
            || fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(directory))
    };
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    processes.filter(|process| mentions(process)).count()
}

fn groups_of(directory: &Path) -> usize {
    let name = format!("stoker-{}", directory.file_name().unwrap().display());
    let controllers = fs::read_dir("/sys/fs/cgroup").unwrap().flatten();
    controllers.filter(|controller| controller.path().join(&name).exists()).count()
}
