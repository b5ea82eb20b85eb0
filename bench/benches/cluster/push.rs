//! From the push event to the changed file on the gateway's disk, and to the status that says so.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use stoker_bench::delivery;
use stoker_bench::finding::{Bar, Finding, Unit, seconds};
use stoker_testkit::git::{Edit, Tree, ignition};
use stoker_testkit::quickstart::{NAMESPACE, OPERATOR_NAMESPACE, POD, SYNC};

use crate::FILES;
use crate::world::{World, printed};

/// What the pushes of this benchmark are signed with.
const KEY: &str = "bench-push-key";
/// Longer than any push should take.
const PATIENCE: Duration = Duration::from_mins(1);
/// So many accepted pushes in a row mean that all replicas accept them.
const IN_A_ROW: usize = 20;
const SERVICE: &str = "stoker-operator-webhook-receiver";

/// What one push came to.
struct Turn {
    disk: Duration,
    synced: Duration,
}

/// The commits that the status names, as they appear.
struct Statuses {
    kubectl: Child,
    lines: Receiver<(Instant, String)>,
}

/// Measures it.
pub(crate) fn measure(world: &World<'_>) -> anyhow::Result<Vec<Finding>> {
    let receiver = open_receiver(world)?;
    let statuses = Statuses::follow(world)?;
    let data = world.data_of(POD)?;
    let mut turns = Vec::new();
    // The first one warms up what the others find ready.
    for number in 0..=world.pushes {
        turns.push(turn(world, number, receiver, &data, &statuses)?);
    }
    turns.remove(0);
    let disk = turns.iter().map(|turn| turn.disk.as_secs_f64()).collect();
    let synced = turns.iter().map(|turn| turn.synced.as_secs_f64()).collect();
    let claim = |what: &str| format!("push event to {what}, median, {FILES} files");
    let bar =
        Bar { id: "push", claim: claim("file on disk"), limit: 1000.0, unit: Unit::Milliseconds };
    let figure = Bar::figure("push", claim("GatewaySync synced"), Unit::Milliseconds);
    Ok(vec![judge(bar, disk), judge(figure, synced)])
}

fn judge(bar: Bar, mut samples: Vec<f64>) -> Finding {
    let ours = samples.clone();
    samples.sort_by(f64::total_cmp);
    let at = |percent: usize| samples[(samples.len() * percent).div_ceil(100) - 1];
    let measured = format!("p50 {}, p99 {}", seconds(at(50)), seconds(at(99)));
    Finding { ours, ..bar.judge(at(50) * 1e3, measured) }
}

fn turn(
    world: &World<'_>,
    number: usize,
    receiver: SocketAddr,
    data: &Path,
    statuses: &Statuses,
) -> anyhow::Result<Turn> {
    let file = format!("projects/{}/bench.json", ignition::project_name(0));
    let content = format!("{{\"push\": {number}}}\n");
    let commit = world.quickstart.repo().commit(Edit::put(Tree::new().file(&file, &content)))?;
    let started = Instant::now();
    post(receiver)?;
    let live = data.join(&file);
    while !fs::read_to_string(&live).is_ok_and(|text| text == content) {
        ensure!(started.elapsed() < PATIENCE, "push {number} did not reach {}", live.display());
        thread::sleep(Duration::from_millis(1));
    }
    let disk = started.elapsed();
    let synced = statuses.wait_for(commit.as_ref())?.duration_since(started);
    Ok(Turn { disk, synced })
}

/// Gives the GatewaySync a secret of its own, stops its polling, and finds the receiver.
fn open_receiver(world: &World<'_>) -> anyhow::Result<SocketAddr> {
    let secret = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: push}}\nstringData: {{hmac-key: {KEY}}}\n"
    );
    world.apply(&secret)?;
    let patch = r#"{"spec":{"polling":{"enabled":false},"webhook":{"secretRef":{"name":"push"}}}}"#;
    world.kubectl(&["patch", "gatewaysync", SYNC, "--type=merge", "--patch", patch])?;
    let mut service = world.quickstart.node().cluster().kubectl();
    service.args(["--namespace", OPERATOR_NAMESPACE, "get", "service", SERVICE]);
    let address =
        printed(service.arg("--output=jsonpath={.spec.clusterIP}:{.spec.ports[0].port}"))?;
    let receiver = world.quickstart.node().forward(&address);
    let started = Instant::now();
    let mut accepted = 0;
    // Each replica learns of the secret by its own watch, and the Service chooses between them.
    while accepted < IN_A_ROW {
        accepted = if post(receiver).is_ok() { accepted + 1 } else { 0 };
        ensure!(started.elapsed() < PATIENCE, "the receiver does not accept a signed push");
        thread::sleep(Duration::from_millis(100));
    }
    Ok(receiver)
}

/// Sends GitHub's push event for `main`.
fn post(receiver: SocketAddr) -> anyhow::Result<()> {
    let body = r#"{"ref":"refs/heads/main","deleted":false}"#;
    let signature = delivery::signature(KEY, body.as_bytes());
    let mut stream = TcpStream::connect(receiver).context("failed to reach the receiver")?;
    write!(
        stream,
        "POST /webhook/{NAMESPACE}/{SYNC} HTTP/1.1\r\nHost: receiver\r\nConnection: close\r\n\
         Content-Type: application/json\r\nX-GitHub-Event: push\r\n\
         X-Hub-Signature-256: {signature}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    ensure!(answer.starts_with("HTTP/1.1 202"), "the receiver refused the push: {answer}");
    Ok(())
}

impl Statuses {
    fn follow(world: &World<'_>) -> anyhow::Result<Self> {
        let mut command = world.quickstart.kubectl();
        command.args(["get", "gatewaysync", SYNC, "--watch"]);
        command.arg("--output=jsonpath={.status.lastSyncCommit}{'\\n'}").stdout(Stdio::piped());
        let mut kubectl = command.spawn().context("failed to start kubectl")?;
        let output = BufReader::new(kubectl.stdout.take().context("it is piped")?);
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send((Instant::now(), line)).is_err() {
                    break;
                }
            }
        });
        Ok(Self { kubectl, lines })
    }

    fn wait_for(&self, commit: &str) -> anyhow::Result<Instant> {
        loop {
            let next = self.lines.recv_timeout(PATIENCE);
            let (when, line) = next.with_context(|| format!("no status names {commit}"))?;
            if line == commit {
                return Ok(when);
            }
        }
    }
}

impl Drop for Statuses {
    fn drop(&mut self) {
        self.kubectl.kill().ok();
        self.kubectl.wait().ok();
    }
}
