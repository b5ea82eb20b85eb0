//! A namespace of the test cluster, and the program run with a kubeconfig for it.

use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stoker_api::crd;
use stoker_testkit::cluster::{Cluster, Namespace};
use stoker_testkit::node::succeed;
use stoker_testkit::object::GatewaySyncBuilder;
use stoker_testkit::process::{self, Guarded};
use stoker_testkit::program::{self, Program};
use tempfile::TempDir;

use crate::run::{Run, spawn};

const WITHIN: Duration = Duration::from_mins(1);
const INTERVAL: Duration = Duration::from_millis(50);

/// A namespace, and an empty home.
pub(crate) struct World {
    pub(crate) namespace: Namespace<'static>,
    home: TempDir,
    kubeconfig: PathBuf,
}

/// The run's cluster with our definitions in it.
pub(crate) fn cluster() -> &'static Cluster {
    static INSTALLED: Once = Once::new();
    let cluster = Cluster::shared();
    INSTALLED.call_once(|| {
        let namespace = cluster.namespace();
        for definition in crd::all() {
            namespace.apply(&serde_json::to_string(&definition).unwrap());
        }
        let established = ["wait", "--for=condition=Established", "--timeout=30s", "crd"];
        succeed(cluster.kubectl().args(established).arg("gatewaysyncs.stoker.io"));
    });
    cluster
}

impl World {
    /// A user with all rights.
    pub(crate) fn new() -> Self {
        Self::with(cluster().kubeconfig())
    }

    /// A user with another kubeconfig.
    pub(crate) fn with(kubeconfig: &Path) -> Self {
        let home = tempfile::tempdir().unwrap();
        Self { namespace: cluster().namespace(), home, kubeconfig: kubeconfig.to_owned() }
    }

    /// Uses another kubeconfig.
    pub(crate) fn as_user(&mut self, kubeconfig: &Path) {
        kubeconfig.clone_into(&mut self.kubeconfig);
    }

    pub(crate) fn create(&self, builder: GatewaySyncBuilder) {
        self.namespace.apply(&serde_json::to_string(&builder.build()).unwrap());
    }

    /// Starts the program in the namespace.
    pub(crate) fn start(&self, words: &[&str]) -> Guarded {
        let mut command = process::command(env!("CARGO_BIN_EXE_stoker")).unwrap();
        command.args(words).args(["-n", self.namespace.name()]).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.home.path()).env("KUBECONFIG", &self.kubeconfig);
        spawn(command)
    }

    /// Runs the program to its end.
    pub(crate) fn stoker(&self, words: &[&str]) -> Run {
        Run::of(self.start(words).output().unwrap())
    }

    /// Runs a command that Stoker printed, as a user who pastes it: in an empty directory, with the
    /// files that it reads.
    pub(crate) fn paste(&self, command: &str) -> Run {
        for file in ["token", "apiKey"] {
            std::fs::write(self.home.path().join(file), "pasted").unwrap();
        }
        let stoker = Path::new(env!("CARGO_BIN_EXE_stoker")).parent().unwrap();
        let kubectl = program::locate(Program::Kubectl).unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = [stoker.to_owned(), kubectl.parent().unwrap().to_owned()];
        let path = std::env::join_paths(own.into_iter().chain(std::env::split_paths(&path)));
        let mut shell = process::command("sh").unwrap();
        shell.args(["-c", command]).current_dir(self.home.path()).env_clear();
        shell.env("PATH", path.unwrap()).env("HOME", self.home.path());
        shell.env("KUBECONFIG", &self.kubeconfig);
        Run::ended(shell)
    }

    /// A file in the user's directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn apply(&self, objects: &[Value]) {
        for object in objects {
            self.namespace.apply(&object.to_string());
        }
    }

    /// Reads an object.
    pub(crate) fn get(&self, kind: &str, name: &str) -> Value {
        let mut command = self.namespace.kubectl();
        let output = command.args(["get", kind, name, "-o", "json"]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    }

    /// Reads a GatewaySync.
    pub(crate) fn sync(&self, name: &str) -> Value {
        self.get("gatewaysync", name)
    }

    pub(crate) fn annotation(&self, name: &str, key: &str) -> String {
        let begun = Instant::now();
        loop {
            if let Some(value) = self.sync(name)["metadata"]["annotations"][key].as_str() {
                return value.to_owned();
            }
            assert!(begun.elapsed() < WITHIN, "no {key} within {WITHIN:?}");
            std::thread::sleep(INTERVAL);
        }
    }

    /// Writes the status, as the controller does.
    pub(crate) fn publish(&self, name: &str, status: &Value) {
        let patch = json!({ "status": status }).to_string();
        let mut command = self.namespace.kubectl();
        command.args(["patch", "gatewaysync", name, "--subresource=status", "--type=merge"]);
        command.args(["--patch", &patch]);
        succeed(&mut command);
    }
}
