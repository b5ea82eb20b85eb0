//! A namespace per test, gone with the test.

use std::io::Write as _;
use std::process::{Output, Stdio};
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

    /// Applies a manifest, as `kubectl apply -f -` does, and returns what it printed.
    ///
    /// # Panics
    /// With the API server's words when it refuses.
    pub fn apply(&self, manifest: &str) -> String {
        let output = self.try_apply(manifest);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Applies a manifest that may be refused.
    pub fn try_apply(&self, manifest: &str) -> Output {
        let mut child = self
            .kubectl()
            .args(["apply", "--filename", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl was found when the cluster started");
        let mut stdin = child.stdin.take().expect("it is piped");
        stdin.write_all(manifest.as_bytes()).expect("kubectl reads to the end");
        drop(stdin);
        child.wait_with_output().expect("kubectl ends")
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
