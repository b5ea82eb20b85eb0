//! The node with Stoker on it, and the order of measuring.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::Context as _;
use stoker_bench::finding::Finding;
use stoker_bench::report::{Machine, Report};
use stoker_bench::suite::{Flags, announce};
use stoker_testkit::git::ignition;
use stoker_testkit::node::Node;
use stoker_testkit::quickstart::{NAMESPACE, Quickstart};

use crate::{FILES, image, memory, push, start};

/// What every measurement uses.
pub(crate) struct World<'a> {
    pub(crate) quickstart: Quickstart<'a>,
    /// Pushes that are measured.
    pub(crate) pushes: usize,
    /// Pairs of pods that are measured.
    pub(crate) pods: usize,
    /// How long agent and operator rest before their memory counts.
    pub(crate) rest: Duration,
}

/// Groups of bars that are measured together: their name, and how.
type Measurement = (&'static str, fn(&World<'_>) -> anyhow::Result<Vec<Finding>>);

/// Memory last: it rests after the last sync.
const MEASUREMENTS: &[Measurement] = &[
    ("image", image::measure),
    ("start", start::measure),
    ("push", push::measure),
    ("memory", memory::measure),
];

/// Measures what is wanted.
pub(crate) fn run(flags: &Flags) -> anyhow::Result<ExitCode> {
    let node = Node::if_possible()
        .context("no node can run here: run `cargo xtask e2e node` to see why")?;
    let quickstart = Quickstart::begin(&node, ignition::tree(FILES, 1));
    eprintln!("installing Stoker …");
    quickstart.run(1..=4);
    let world = World::new(quickstart, flags);
    let mut findings = Vec::new();
    for (id, measure) in MEASUREMENTS.iter().filter(|(id, _)| flags.wants(id)) {
        let found = measure(&world).with_context(|| format!("failed to measure {id}"))?;
        announce(&found);
        findings.extend(found);
    }
    let machine = Machine::observe("overlayfs".to_owned(), vec!["Kubernetes 1.34".to_owned()]);
    let report = Report { suite: "cluster", machine, pairs: world.pushes, findings };
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    flags.conclude(&report, target.context("a target directory has a parent")?)
}

impl<'a> World<'a> {
    fn new(quickstart: Quickstart<'a>, flags: &Flags) -> Self {
        let rest = if flags.quick { Duration::from_secs(30) } else { Duration::from_mins(10) };
        Self { quickstart, pushes: if flags.quick { 5 } else { 50 }, pods: flags.pairs(), rest }
    }

    /// Runs `kubectl` in the gateway's namespace and returns what it printed.
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> anyhow::Result<String> {
        printed(self.quickstart.kubectl().args(arguments))
    }

    /// The directory of a pod's volume `data`, seen from outside the node.
    pub(crate) fn data_of(&self, pod: &str) -> anyhow::Result<std::path::PathBuf> {
        let uid = self.kubectl(&["get", "pod", pod, "--output=jsonpath={.metadata.uid}"])?;
        let pods = self.quickstart.node().cluster().directory().join("kubelet/pods");
        Ok(pods.join(uid).join("volumes/kubernetes.io~empty-dir/data"))
    }

    /// Runs `kubectl apply` in the gateway's namespace.
    pub(crate) fn apply(&self, manifest: &str) -> anyhow::Result<()> {
        use std::io::Write as _;
        let mut command = self.quickstart.kubectl();
        command.args(["apply", "--filename", "-"]);
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
        let mut child = command.spawn().context("failed to start kubectl")?;
        let mut input = child.stdin.take().context("it is piped")?;
        input.write_all(manifest.as_bytes())?;
        drop(input);
        anyhow::ensure!(child.wait()?.success(), "kubectl apply failed in {NAMESPACE}");
        Ok(())
    }
}

/// Runs a command and returns what it printed.
pub(crate) fn printed(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("failed to start {command:?}"))?;
    let (out, err) = (output.stdout, output.stderr);
    anyhow::ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&err));
    Ok(String::from_utf8_lossy(&out).trim().to_owned())
}
