//! The node with Stoker on it, and the order of measuring.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::Context as _;
use stoker_bench::finding::{Bar, Finding, Unit};
use stoker_bench::program::Program;
use stoker_bench::report::{Machine, Report};
use stoker_bench::suite::{Flags, announce};
use stoker_testkit::git::http::HttpServer;
use stoker_testkit::node::{Exposed, Node};
use stoker_testkit::quickstart::{NAMESPACE, Quickstart, sample};

use crate::site::{Pod, SCANS, Site};
use crate::{heavy, image, push, rest, start};

/// What every measurement uses.
pub(crate) struct World<'a> {
    pub(crate) quickstart: Quickstart<'a>,
    /// Serves the repositories; pods reach it at the node's address.
    pub(crate) server: HttpServer,
    pub(crate) exposed: Exposed,
    /// Where the program for comparisons is.
    pub(crate) flags: Flags,
    pub(crate) git: Program,
    pub(crate) is_quick: bool,
    /// Pushes that are measured.
    pub(crate) pushes: usize,
    /// Pairs of small pods that are measured, and large pods.
    pub(crate) turns: usize,
    pub(crate) long_turns: usize,
    /// How long agents and operator rest before their memory counts.
    pub(crate) rest: Duration,
    gateways: OnceLock<Vec<Gateway>>,
}

/// A gateway that gets pushes and then rests.
pub(crate) struct Gateway {
    pub(crate) site: Site,
    pub(crate) pod: Pod,
    pub(crate) files: usize,
}

impl Gateway {
    pub(crate) fn is_large(&self) -> bool {
        self.files > 1_000
    }
}

/// Groups of bars that are measured together: what chooses them, and how.
type Measurement = (&'static str, fn(&World<'_>) -> anyhow::Result<Vec<Finding>>);

/// The rest comes last: it follows the last push.
const MEASUREMENTS: &[Measurement] = &[
    ("image", image::measure),
    ("start", start::measure),
    ("start-large", start::measure_large),
    ("P11", heavy::measure),
    ("push", push::measure),
    ("rest", rest::measure),
];

/// Measures what is wanted.
pub(crate) fn run(flags: &Flags) -> anyhow::Result<ExitCode> {
    let node = Node::if_possible()
        .context("no node can run here: run `cargo xtask e2e node` to see why")?;
    let quickstart = Quickstart::begin(&node, sample());
    eprintln!("installing Stoker …");
    quickstart.run(1..=2);
    let world = World::new(quickstart, flags)?;
    let (mut findings, mut failed) = (Vec::new(), Vec::new());
    for (id, measure) in MEASUREMENTS.iter().filter(|(id, _)| flags.wants(id)) {
        eprintln!("measuring {id} …");
        // One that fails is named and does not take the others with it: they have cost minutes.
        let found = measure(&world).unwrap_or_else(|error| {
            failed.push(*id);
            vec![Bar::figure(id, "failed", Unit::Count).skip(format!("{error:#}"))]
        });
        announce(&found);
        findings.extend(found);
    }
    let machine = Machine::observe("overlayfs".to_owned(), vec!["Kubernetes 1.34".to_owned()]);
    let report = Report { suite: "cluster", machine, pairs: world.pushes, findings };
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    let code = flags.conclude(&report, target.context("a target directory has a parent")?)?;
    anyhow::ensure!(failed.is_empty(), "failed to measure: {}", failed.join(", "));
    Ok(code)
}

impl<'a> World<'a> {
    fn new(quickstart: Quickstart<'a>, flags: &Flags) -> anyhow::Result<Self> {
        let server = HttpServer::start()?;
        let exposed = quickstart.node().expose(server.address());
        let world = Self {
            quickstart,
            server,
            exposed,
            flags: flags.clone(),
            git: Program::find("git").context("git is not installed")?,
            is_quick: flags.quick,
            pushes: if flags.quick { 5 } else { 50 },
            turns: flags.pairs(),
            long_turns: if flags.quick { 1 } else { 3 },
            rest: if flags.quick { Duration::from_secs(30) } else { Duration::from_mins(10) },
            gateways: OnceLock::new(),
        };
        let key = push::KEY;
        world.apply(&format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: push}}\nstringData: {{hmac-key: {key}}}\n"
        ))?;
        Ok(world)
    }

    /// The gateways that get pushes and then rest, made on first use.
    pub(crate) fn gateways(&self) -> anyhow::Result<&[Gateway]> {
        if self.gateways.get().is_none() {
            let make = |(name, files)| {
                let site = Site::plant(self, name, files)?;
                let pod = site.start(self, name, SCANS)?;
                let ready = ["--for=condition=Ready", "--timeout=3m"];
                self.kubectl(&[&["wait", "gatewaysync", name], &ready[..]].concat())?;
                Ok(Gateway { site, pod, files })
            };
            let sizes = [("small", 100), ("large", 50_000)];
            let gateways = sizes.into_iter().map(make).collect::<anyhow::Result<Vec<_>>>()?;
            self.gateways.get_or_init(|| gateways);
        }
        Ok(self.gateways.get().map_or(&[], Vec::as_slice))
    }

    /// Runs `kubectl` in the gateway's namespace and returns what it printed.
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> anyhow::Result<String> {
        printed(self.quickstart.kubectl().args(arguments))
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
