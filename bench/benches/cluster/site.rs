//! A GatewaySync with a repository of its own, and pods that name it.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, ensure};
use stoker_testkit::git::{Edit, Oid, Repo, Tree, ignition};

use crate::world::World;

const SYNC: &str = include_str!("sync.yaml");
const POD: &str = include_str!("pod.yaml");
/// The first thing that the gateway's container does is to make this file.
const STARTED: &str = "gateway-started";
/// How agents reach gateways.
const KEY: &str = "{api: {secretName: gateway-api-key}}";
/// The most files for which the stand-in keeps the time that a scan is set to take.
const SCANNED: usize = 1_000;
/// What a push changes.
const FILE: &str = "bench.json";

/// What the gateway's container does after that.
pub(crate) const SLEEPS: &str = "exec sleep 3600";
pub(crate) const SCANS: &str = "exec /usr/local/bin/fake-gateway --data=/usr/local/bin/ignition/data \
     --listen=0.0.0.0:8088 --token=$API_KEY --scan-ms=100";

/// A GatewaySync and its repository.
pub(crate) struct Site {
    pub(crate) name: &'static str,
    /// Where pods find the repository.
    pub(crate) url: String,
    repo: Repo,
}

/// A pod with a gateway.
pub(crate) struct Pod {
    pub(crate) name: String,
    pub(crate) uid: String,
    /// Where its volumes are, seen from outside the node.
    pub(crate) volumes: PathBuf,
    /// From its creation to the gateway's first process.
    pub(crate) took: Duration,
}

impl Site {
    /// A repository like a plant's. Of a large one the stand-in would take seconds for a scan, so its
    /// agent has no API key and scans nothing.
    pub(crate) fn plant(
        world: &World<'_>,
        name: &'static str,
        files: usize,
    ) -> anyhow::Result<Self> {
        Self::new(world, name, ignition::tree(files, 7), "{}")
    }

    /// Makes a repository as a forge keeps it, and a GatewaySync that names it.
    pub(crate) fn new(
        world: &World<'_>,
        name: &'static str,
        tree: Tree,
        agent: &str,
    ) -> anyhow::Result<Self> {
        let is_scanned = tree.len() <= SCANNED;
        let (repo, _) = Repo::with(tree)?;
        repo.config("uploadpack.allowFilter", "true")?;
        repo.config("uploadpack.allowAnySHA1InWant", "true")?;
        repo.git(["repack", "-a", "-d", "-q", "--window=0", "--write-bitmap-index"])?;
        world.server.mount(name, &repo);
        let url = format!("http://{}/{name}.git", world.exposed.address());
        let manifest = SYNC.replace("NAME", name).replace("URL", &url).replace("AGENT", agent);
        world.apply(&manifest.replace("API", if is_scanned { KEY } else { "{}" }))?;
        Ok(Self { name, url, repo })
    }

    /// Commits a change to one file; returns the commit, the file, and what is in it now.
    pub(crate) fn commit(&self, number: usize) -> anyhow::Result<(Oid, String, String)> {
        let file = format!("projects/{}/{FILE}", ignition::project_name(0));
        let content = format!("{{\"push\": {number}}}\n");
        let commit = self.repo.commit(Edit::put(Tree::new().file(&file, &content)))?;
        Ok((commit, file, content))
    }

    /// Creates a pod with an agent and waits for its gateway's process.
    pub(crate) fn start(&self, world: &World<'_>, pod: &str, gateway: &str) -> anyhow::Result<Pod> {
        let pod = start(world, pod, Some(self.name), gateway)?;
        let has_files = pod.volumes.join("data/projects").is_dir();
        ensure!(has_files, "{} started without the files of the commit", pod.name);
        Ok(pod)
    }
}

/// Creates a pod, with an agent for a GatewaySync or without one.
pub(crate) fn start(
    world: &World<'_>,
    name: &str,
    sync: Option<&str>,
    gateway: &str,
) -> anyhow::Result<Pod> {
    let inject = if sync.is_some() { "true" } else { "false" };
    let manifest = POD.replace("NAME", name).replace("INJECT", inject);
    let manifest = manifest.replace("SYNC", sync.unwrap_or("none")).replace("GATEWAY", gateway);
    let created = SystemTime::now();
    world.apply(&manifest)?;
    let uid = world.kubectl(&["get", "pod", name, "--output=jsonpath={.metadata.uid}"])?;
    let pods = world.quickstart.node().cluster().directory().join("kubelet/pods");
    let volumes = pods.join(&uid).join("volumes/kubernetes.io~empty-dir");
    let started = wait_for(&volumes.join("data").join(STARTED))?;
    let took = started.duration_since(created).context("the clock went backwards")?;
    Ok(Pod { name: name.to_owned(), uid, volumes, took })
}

impl Pod {
    /// Deletes it and waits until it is gone, with its volumes.
    pub(crate) fn delete(self, world: &World<'_>) -> anyhow::Result<()> {
        let arguments = ["delete", "pod", &self.name, "--grace-period=1", "--timeout=3m"];
        world.kubectl(&arguments).map(drop)
    }
}

fn wait_for(file: &Path) -> anyhow::Result<SystemTime> {
    let began = Instant::now();
    loop {
        if let Ok(metadata) = fs::metadata(file) {
            return metadata.modified().context("files have times");
        }
        ensure!(began.elapsed() < Duration::from_mins(5), "{} did not appear", file.display());
        thread::sleep(Duration::from_millis(5));
    }
}
