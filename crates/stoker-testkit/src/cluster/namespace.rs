//! A namespace per test, gone with the test.

use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Cluster;

/// A namespace of its own for one test; deleted when dropped.
#[derive(Debug)]
pub struct Namespace<'a> {
    cluster: &'a Cluster,
    name: String,
}

impl Cluster {
    /// Makes a namespace that no other test of this run has.
    pub fn namespace(&self) -> Namespace<'_> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("test-{}-{number}", std::process::id());
        let output = self.kubectl().args(["create", "namespace", &name]).output();
        let output = output.expect("kubectl was found when the cluster started");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Namespace { cluster: self, name }
    }
}

impl Namespace<'_> {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `kubectl` with all rights, in this namespace.
    pub fn kubectl(&self) -> std::process::Command {
        let mut command = self.cluster.kubectl();
        command.args(["--namespace", &self.name]);
        command
    }
}

impl Drop for Namespace<'_> {
    /// Not waited for: its controllers empty it while the next test runs.
    fn drop(&mut self) {
        self.cluster
            .kubectl()
            .args(["delete", "namespace", &self.name, "--wait=false", "--ignore-not-found"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .ok();
    }
}
