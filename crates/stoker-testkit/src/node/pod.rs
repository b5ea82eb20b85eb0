//! A pod on the node, looked at through kubectl as a person would.

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
