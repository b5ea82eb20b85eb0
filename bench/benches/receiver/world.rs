//! An API server with one GatewaySync, and the operator's webhook half.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use stoker_bench::program::Program;
use stoker_testkit::cluster::Cluster;
use stoker_testkit::quickstart::SYNC;
use tempfile::NamedTempFile;

use crate::load::Load;

pub(crate) const NAMESPACE: &str = "bench-receiver";
/// What push events are signed with.
pub(crate) const KEY: &str = "bench-push-key";
const PATIENCE: Duration = Duration::from_mins(1);

/// The receiver, and what it stands on.
pub(crate) struct World {
    cluster: &'static Cluster,
    operator: Child,
    port: u16,
    _key: NamedTempFile,
}

/// Counts how often the GatewaySync changes.
pub(crate) struct Writes {
    kubectl: Child,
    lines: Receiver<()>,
}

impl World {
    /// Starts everything, and waits until a push event is accepted.
    pub(crate) fn start(operator: Option<&Path>) -> anyhow::Result<Self> {
        let cluster = Cluster::shared();
        let program = operator.map_or_else(|| Program::built("stoker-operator"), Program::at)?;
        let crds = program
            .command()
            .args(["crds", "print"])
            .output()
            .context("failed to print the CRDs")?;
        ensure!(crds.status.success(), "{}", String::from_utf8_lossy(&crds.stderr));
        apply(cluster, &[], &crds.stdout)?;
        run(cluster.kubectl().args(["wait", "--for=condition=Established", "crd", "--all"]))?;
        let objects = format!(
            "apiVersion: v1\nkind: Namespace\nmetadata: {{name: {NAMESPACE}}}\n---\n\
             apiVersion: stoker.io/v1alpha1\nkind: GatewaySync\n\
             metadata: {{name: {SYNC}, namespace: {NAMESPACE}}}\n\
             spec: {{git: {{repo: \"https://git.example.com/plant.git\", ref: main}}}}\n"
        );
        apply(cluster, &["--namespace", NAMESPACE], objects.as_bytes())?;
        let key = NamedTempFile::new()?;
        fs::write(key.path(), KEY)?;
        let ports: Vec<u16> = (0..3).map(|_| free_port()).collect::<anyhow::Result<_>>()?;
        let mut command = program.command();
        command.args(["--mode=webhook", "--log-level=error", "--metrics-bind-address=0"]);
        command.args([
            format!("--namespace={NAMESPACE}"),
            format!("--watch-namespaces={NAMESPACE}"),
            format!("--webhook-port={}", ports[0]),
            format!("--receiver-port={}", ports[1]),
            format!("--health-probe-bind-address=127.0.0.1:{}", ports[2]),
            format!("--receiver-hmac-file={}", key.path().display()),
            "--receiver-rate-limit=0".to_owned(),
            "--webhook-configuration=stoker-bench".to_owned(),
            "--certificate-names=127.0.0.1".to_owned(),
        ]);
        command.env("KUBECONFIG", cluster.kubeconfig()).stdout(Stdio::null());
        let operator = command.spawn().context("failed to start the operator")?;
        let world = Self { cluster, operator, port: ports[1], _key: key };
        world.wait()?;
        Ok(world)
    }

    fn wait(&self) -> anyhow::Result<()> {
        let (load, started) = (Load::signed(KEY, 1024), Instant::now());
        while load.send(self.address(), 202, 1, Duration::from_millis(1)).is_err() {
            ensure!(started.elapsed() < PATIENCE, "the receiver does not accept a push event");
            thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    pub(crate) fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Returns the resident set of the operator in MiB.
    pub(crate) fn memory(&self) -> anyhow::Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.operator.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib: f64 = line.context("no VmRSS")?.trim().trim_end_matches(" kB").parse()?;
        Ok(kib / 1024.0)
    }

    /// Begins to count writes. What is there already is not one.
    pub(crate) fn count_writes(&self) -> anyhow::Result<Writes> {
        let mut command = self.cluster.kubectl();
        command.args(["--namespace", NAMESPACE, "get", "gatewaysync", SYNC, "--watch"]);
        command.arg("--output=jsonpath={.metadata.resourceVersion}{'\\n'}").stdout(Stdio::piped());
        let mut kubectl = command.spawn().context("failed to start kubectl")?;
        let output = BufReader::new(kubectl.stdout.take().context("it is piped")?);
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for _ in output.lines().map_while(Result::ok) {
                if sender.send(()).is_err() {
                    break;
                }
            }
        });
        lines.recv_timeout(PATIENCE).context("kubectl does not watch")?;
        Ok(Writes { kubectl, lines })
    }
}

impl Writes {
    /// Returns how many there were until none came for a while.
    pub(crate) fn stop(self, pause: Duration) -> anyhow::Result<u64> {
        let mut count = 0;
        loop {
            match self.lines.recv_timeout(pause) {
                Ok(()) => count += 1,
                Err(RecvTimeoutError::Timeout) => return Ok(count),
                Err(RecvTimeoutError::Disconnected) => anyhow::bail!("kubectl ended"),
            }
        }
    }
}

impl Drop for Writes {
    fn drop(&mut self) {
        self.kubectl.kill().ok();
        self.kubectl.wait().ok();
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.operator.kill().ok();
        self.operator.wait().ok();
    }
}

/// A port that is free at this moment.
fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("[::]:0")?.local_addr()?.port())
}

fn apply(cluster: &Cluster, flags: &[&str], manifest: &[u8]) -> anyhow::Result<()> {
    let mut command = cluster.kubectl();
    command.args(flags).args(["apply", "--server-side", "--filename", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    child.stdin.take().context("it is piped")?.write_all(manifest)?;
    ensure!(child.wait()?.success(), "kubectl apply failed");
    Ok(())
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let output = command.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
