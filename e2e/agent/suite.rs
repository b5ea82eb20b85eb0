//! The agent's container on a real node, without the operator: the suite writes what the controller
//! would write.

#![expect(clippy::unwrap_used, reason = "a claim that can't go on has failed")]

#[path = "01-the-store-lives-in-an-emptydir/claim.rs"]
mod c01;
#[path = "02-a-killed-worker-returns-in-its-container/claim.rs"]
mod c02;
#[path = "03-a-full-volume-recovers/claim.rs"]
mod c03;
#[path = "04-two-gateways-share-a-volume/claim.rs"]
mod c04;
#[path = "05-secrets-are-files-that-rotate/claim.rs"]
mod c05;

use std::path::PathBuf;

use stoker_testkit::cluster::Namespace;
use stoker_testkit::git::http::HttpServer;
use stoker_testkit::git::{Edit, Oid, Repo, Tree, ignition};
use stoker_testkit::images;
use stoker_testkit::node::{Exposed, Node, Pod, agent_processes, succeed};
use stoker_testkit::wait::eventually;

const POD: &str = "plant-0";
const SYNCED: &str = "\"syncStatus\":\"Synced\"";

/// A repository that pods reach.
struct World {
    node: &'static Node,
    repo: Repo,
    commit: Oid,
    url: String,
    _served: (HttpServer, Exposed),
}

/// What differs between the pods of this suite.
struct Setup<'a> {
    name: &'a str,
    security: &'a str,
    /// The volume of the gateway's data.
    volume: &'a str,
    environment: &'a [(&'a str, &'a str)],
}

impl Default for Setup<'_> {
    fn default() -> Self {
        let security = "{runAsUser: 2003, runAsGroup: 2003, fsGroup: 2003}";
        Self { name: POD, security, volume: "emptyDir: {}", environment: &[] }
    }
}

impl World {
    /// Serves a small repository; `None` where this machine can't have a node.
    fn begin() -> Option<Self> {
        let node = Node::or_skip()?;
        let (repo, commit) = Repo::with(ignition::tree(5, 1)).unwrap();
        let server = HttpServer::start().unwrap();
        server.mount("plant", &repo);
        let exposed = node.expose(server.address());
        let url = format!("http://{}/plant.git", exposed.address());
        Some(Self { node, repo, commit, url, _served: (server, exposed) })
    }

    /// Announces the first commit, with further keys, and makes the objects around it.
    fn announce(&self, namespace: &Namespace<'_>, url: &str, metadata: &[(&str, &str)]) {
        let lines: Vec<_> =
            metadata.iter().map(|(key, value)| format!("  {key}: {value:?}")).collect();
        let manifest = include_str!("objects.yaml")
            .replace("COMMIT", self.commit.as_str())
            .replace("REPOSITORY", url)
            .replace("METADATA", &lines.join("\n"));
        namespace.apply(&manifest);
    }

    /// Makes a commit and announces it.
    fn advance(&self, namespace: &Namespace<'_>, files: Tree) -> Oid {
        let commit = self.repo.commit(Edit::put(files)).unwrap();
        let patch = format!("{{\"data\":{{\"commit\":\"{commit}\"}}}}");
        let mut kubectl = namespace.kubectl();
        kubectl.args(["patch", "configmap", "stoker-metadata-plant", "--type=merge", "--patch"]);
        succeed(kubectl.arg(patch));
        commit
    }

    /// Starts an agent.
    fn start<'a>(&self, namespace: &'a Namespace<'a>, setup: &Setup<'a>) -> Pod<'a> {
        let variable =
            |(name, value): &(&str, &str)| format!("        - {{name: {name}, value: {value:?}}}");
        let environment: Vec<_> = setup.environment.iter().map(variable).collect();
        let manifest = include_str!("pod.yaml")
            .replace("IMAGE", &images::load(self.node).agent)
            .replace("NAME}", &format!("{}}}", setup.name))
            .replace("SECURITY", setup.security)
            .replace("VOLUME", setup.volume)
            .replace("ENVIRONMENT", &environment.join("\n"));
        namespace.apply(&manifest);
        self.node.pod(namespace, setup.name)
    }

    /// Starts an agent with an announcement, and waits until it has synced.
    fn start_synced<'a>(&self, namespace: &'a Namespace<'a>, setup: &Setup<'a>) -> Pod<'a> {
        self.announce(namespace, &self.url, &[("authType", "none")]);
        let pod = self.start(namespace, setup);
        // Ready is what the startup probe lets through: the first sync is done.
        pod.wait_ready();
        wait_report(namespace, setup.name, &[SYNCED, self.commit.as_str()]);
        pod
    }
}

/// Waits for a report that has all these parts, and returns it.
#[track_caller]
fn wait_report(namespace: &Namespace<'_>, pod: &str, parts: &[&str]) -> String {
    let mut report = String::new();
    let path = format!("--output=jsonpath={{.data.{pod}}}");
    let get = ["get", "configmap", "stoker-status-plant-0", &path];
    eventually(&format!("a report with {parts:?}"), || {
        report = succeed(namespace.kubectl().args(get));
        parts.iter().all(|part| report.contains(part))
    });
    report
}

/// Returns the one worker of an agent.
#[track_caller]
fn worker(namespace: &Namespace<'_>, pod: &str) -> u32 {
    let [worker] = agent_processes(namespace.name(), pod, "worker")[..] else {
        panic!("there is one worker")
    };
    worker
}

/// A directory of an agent's container, seen from outside.
fn inside(process: u32, path: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{process}/root{path}"))
}
