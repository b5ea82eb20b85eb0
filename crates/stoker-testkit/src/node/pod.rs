//! A pod on the node, looked at through kubectl as a person would.

use std::fs;
use std::process::{Command, Output};

use super::succeed;
use crate::cluster::Namespace;

/// A pod that a test made.
#[derive(Debug, Clone, Copy)]
pub struct Pod<'a> {
    pub(super) namespace: &'a Namespace<'a>,
    pub(super) name: &'a str,
}

impl Pod<'_> {
    /// Waits until the pod is Ready.
    ///
    /// # Panics
    /// With kubectl's description of the pod when it is not ready within a minute.
    pub fn wait_ready(&self) {
        self.wait("condition=Ready");
    }

    /// Waits for anything that `kubectl wait --for` understands.
    ///
    /// # Panics
    /// With kubectl's description of the pod when it does not happen within a minute.
    pub fn wait(&self, what: &str) {
        let mut wait = self.kubectl("wait");
        wait.args([&format!("pod/{}", self.name), &format!("--for={what}"), "--timeout=60s"]);
        if !wait.output().is_ok_and(|output| output.status.success()) {
            let description = succeed(self.kubectl("describe").args(["pod", self.name]));
            panic!("pod {}: no {what}:\n{description}", self.name);
        }
    }

    /// Runs a command in a container and returns what it printed, with its exit status.
    pub fn exec(&self, container: &str, command: &[&str]) -> Output {
        let mut exec = self.kubectl("exec");
        exec.args([self.name, "--container", container, "--"]).args(command);
        exec.output().expect("kubectl was found when the cluster started")
    }

    /// What a container has logged so far.
    pub fn logs(&self, container: &str) -> String {
        succeed(self.kubectl("logs").args([self.name, "--container", container]))
    }

    /// A field of the pod by its JSON path, such as `{.status.phase}`.
    pub fn field(&self, path: &str) -> String {
        let output = format!("--output=jsonpath={path}");
        succeed(self.kubectl("get").args(["pod", self.name, &output]))
    }

    fn kubectl(&self, verb: &str) -> Command {
        let mut command = self.namespace.kubectl();
        command.arg(verb);
        command
    }
}

/// Returns the processes of a pod's agent, as this machine numbers them: those with this word among
/// their arguments, or all of them where it is empty.
///
/// # Panics
/// When processes can't be listed.
pub fn agent_processes(namespace: &str, pod: &str, word: &str) -> Vec<u32> {
    let own = [format!("POD_NAMESPACE={namespace}"), format!("POD_NAME={pod}")];
    let holds = |pid: u32, file: &str, text: &str| {
        let bytes = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        bytes.split(|byte| *byte == 0).any(|part| part == text.as_bytes())
    };
    let entries = fs::read_dir("/proc").expect("processes are listed").flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_own = |pid: &u32| own.iter().all(|variable| holds(*pid, "environ", variable));
    let is_meant = |pid: &u32| word.is_empty() || holds(*pid, "cmdline", word);
    numbers.filter(is_own).filter(is_meant).collect()
}

/// Sends a signal, such as `KILL`, to a process; one that has ended by itself needs none.
///
/// # Panics
/// When `kill` is not on this machine.
pub fn signal(process: u32, name: &str) {
    let mut kill = Command::new("kill");
    kill.args(["-s", name, &process.to_string()]).output().expect("kill is on this machine");
}
