//! From the push event to the changed file on the gateway's disk, and to the status that says so.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use stoker_bench::delivery;
use stoker_bench::finding::{Bar, Finding, Unit, seconds};
use stoker_bench::pair::Series;
use stoker_bench::program;
use stoker_testkit::quickstart::{NAMESPACE, OPERATOR_NAMESPACE};

use crate::agent::Processes;
use crate::world::{Gateway, World, printed};

/// What the pushes of this benchmark are signed with.
pub(crate) const KEY: &str = "bench-push-key";
/// Longer than any push should take.
const PATIENCE: Duration = Duration::from_mins(1);
/// A replica of the receiver writes once a second for a GatewaySync: what comes sooner waits.
const SPACING: Duration = Duration::from_millis(1200);
/// Status writes come from a bucket of 3 that is refilled once a second: after this time it is full.
const STATUS_SPACING: Duration = Duration::from_millis(3200);
/// So many accepted pushes in a row mean that all replicas accept them.
const IN_A_ROW: usize = 20;
const SERVICE: &str = "stoker-operator-webhook-receiver";

/// What one push came to.
struct Turn {
    disk: Duration,
    synced: Duration,
    git: Duration,
}

/// Who takes part in a series of pushes.
struct Pusher<'a> {
    gateway: &'a Gateway,
    receiver: SocketAddr,
    statuses: Statuses,
    git: Git<'a>,
}

/// Plain git, with a repository of its own in the volume of the agent's store.
struct Git<'a> {
    world: &'a World<'a>,
    gateway: &'a Gateway,
    directory: String,
}

/// The commits that the status names, as they appear.
struct Statuses {
    kubectl: Child,
    lines: Receiver<(Instant, String)>,
}

/// Measures it.
pub(crate) fn measure(world: &World<'_>) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for gateway in world.gateways()? {
        let pusher = Pusher {
            gateway,
            receiver: open_receiver(world, gateway.site.name)?,
            statuses: Statuses::follow(world, gateway.site.name)?,
            git: Git::clone(world, gateway)?,
        };
        // The first one warms up what the others find ready.
        let count = if gateway.is_large() { 2 * world.pushes } else { world.pushes };
        let mut turns = (0..=count).map(|number| pusher.turn(number));
        turns.next().transpose()?;
        let turns = turns.collect::<anyhow::Result<Vec<_>>>()?;
        eprintln!("{} pushes to {} files are done …", turns.len(), gateway.files);
        findings.extend(judge(gateway, &turns));
    }
    Ok(findings)
}

fn judge(gateway: &Gateway, turns: &[Turn]) -> Vec<Finding> {
    let files = gateway.files;
    let is_large = gateway.is_large();
    let (median, most) = if is_large { (450.0, 1500.0) } else { (250.0, f64::INFINITY) };
    let bar = |id, claim: String, limit| Bar { id, claim, limit, unit: Unit::Milliseconds };
    let disk = Series {
        ours: turns.iter().map(|turn| turn.disk.as_secs_f64()).collect(),
        reference: turns.iter().map(|turn| turn.git.as_secs_f64()).collect(),
    };
    let synced: Vec<_> = turns.iter().map(|turn| turn.synced.as_secs_f64()).collect();
    let (ours, git) = disk.medians();
    let difference = disk.difference() * 1e3;
    let beyond =
        bar("P2", format!("the same, beyond git ls-remote + git fetch, {files} files"), 150.0);
    let beyond = beyond.judge(difference, format!("{} to {}", seconds(ours), seconds(git)));
    let mut findings = vec![
        at(
            50,
            bar("P2", format!("push event to file on disk, p50, {files} files"), median),
            &disk.ours,
        ),
        at(
            99,
            bar("P2", format!("push event to file on disk, p99, {files} files"), most),
            &disk.ours,
        ),
        Finding { ours: disk.ours, reference: disk.reference, ..beyond },
    ];
    if !is_large {
        let claim = format!("file on disk to GatewaySync synced, p50, {files} files");
        findings.push(at(50, bar("P3", claim, 500.0), &synced));
    }
    findings
}

/// Judges the value that so many percent of the samples do not exceed.
fn at(percent: usize, bar: Bar, samples: &[f64]) -> Finding {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |percent: usize| sorted[(sorted.len() * percent).div_ceil(100) - 1];
    let measured =
        format!("p50 {}, p99 {}, {} pushes", seconds(at(50)), seconds(at(99)), sorted.len());
    let value = at(percent) * 1e3;
    Finding { ours: samples.to_vec(), ..bar.judge(value, measured) }
}

impl Pusher<'_> {
    /// Pushes a commit. Plain git fetches it before or after the agent does, by turns.
    fn turn(&self, number: usize) -> anyhow::Result<Turn> {
        let Gateway { site, pod, .. } = self.gateway;
        let (commit, file, content) = site.commit(number)?;
        let is_first = number % 2 == 1;
        let before = if is_first { Some(self.git.fetch()?) } else { None };
        let started = Instant::now();
        post(self.receiver, site.name)?;
        let live = pod.volumes.join("data").join(&file);
        while !fs::read_to_string(&live).is_ok_and(|text| text == content) {
            ensure!(started.elapsed() < PATIENCE, "push {number} did not reach {}", live.display());
            thread::sleep(Duration::from_millis(1));
        }
        let landed = Instant::now();
        let synced = self.statuses.wait_for(commit.as_ref())?.saturating_duration_since(landed);
        let git = before.map_or_else(|| self.git.fetch(), Ok)?;
        let spacing = if self.gateway.is_large() { SPACING } else { STATUS_SPACING };
        thread::sleep(spacing.saturating_sub(started.elapsed()));
        Ok(Turn { disk: landed - started, synced, git })
    }
}

impl<'a> Git<'a> {
    fn clone(world: &'a World<'a>, gateway: &'a Gateway) -> anyhow::Result<Self> {
        let directory = gateway.pod.volumes.join("sync-repo/reference.git").display().to_string();
        let git = Self { world, gateway, directory };
        let url = &gateway.site.url;
        let mut command = world.git.command();
        command.args(["clone", "--quiet", "--bare", "--depth=1", url, &git.directory]);
        git.run(&command)?;
        Ok(git)
    }

    /// Asks for the ref and fetches its commit. The shell measures, so that its own start is not in it.
    fn fetch(&self) -> anyhow::Result<Duration> {
        const SCRIPT: &str = "set -e; start=$(date +%s%N)\n\
             \"$0\" ls-remote \"$2\" refs/heads/main > /dev/null\n\
             \"$0\" -C \"$1\" fetch --quiet --depth=1 \"$2\" main\n\
             echo $(($(date +%s%N) - start))";
        let mut shell = program::isolated("/bin/sh");
        shell.args(["-c", SCRIPT]).arg(self.world.git.path());
        shell.args([&self.directory, &self.gateway.site.url]);
        let printed = self.run(&shell)?;
        Ok(Duration::from_nanos(printed.trim().parse().context("it printed nanoseconds")?))
    }

    fn run(&self, command: &Command) -> anyhow::Result<String> {
        let agent = Processes::find("stoker-agent", &self.gateway.pod.uid)?;
        let ran = program::run(&mut agent.beside(command)?)?;
        Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
    }
}

/// Finds the receiver, and waits until it accepts pushes for a GatewaySync.
fn open_receiver(world: &World<'_>, sync: &str) -> anyhow::Result<SocketAddr> {
    let mut service = world.quickstart.node().cluster().kubectl();
    service.args(["--namespace", OPERATOR_NAMESPACE, "get", "service", SERVICE]);
    let address =
        printed(service.arg("--output=jsonpath={.spec.clusterIP}:{.spec.ports[0].port}"))?;
    let receiver = world.quickstart.node().forward(&address);
    let started = Instant::now();
    let mut accepted = 0;
    // Each replica learns of the secret by its own watch, and the Service chooses between them.
    while accepted < IN_A_ROW {
        accepted = if post(receiver, sync).is_ok() { accepted + 1 } else { 0 };
        ensure!(started.elapsed() < PATIENCE, "the receiver does not accept a signed push");
        thread::sleep(Duration::from_millis(100));
    }
    thread::sleep(SPACING);
    Ok(receiver)
}

/// Sends GitHub's push event for `main`.
fn post(receiver: SocketAddr, sync: &str) -> anyhow::Result<()> {
    let body = r#"{"ref":"refs/heads/main","deleted":false}"#;
    let signature = delivery::signature(KEY, body.as_bytes());
    let mut stream = TcpStream::connect(receiver).context("failed to reach the receiver")?;
    write!(
        stream,
        "POST /webhook/{NAMESPACE}/{sync} HTTP/1.1\r\nHost: receiver\r\nConnection: close\r\n\
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
    fn follow(world: &World<'_>, sync: &str) -> anyhow::Result<Self> {
        let mut command = world.quickstart.kubectl();
        command.args(["get", "gatewaysync", sync, "--watch"]);
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
