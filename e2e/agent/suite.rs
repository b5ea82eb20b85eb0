//! The agent's container on a real node, without the operator: the suite writes what the controller
//! would write.

#![expect(clippy::unwrap_used, reason = "a claim that can't go on has failed")]

#[path = "01-the-store-lives-in-an-emptydir/claim.rs"]
mod c01;
#[path = "02-a-killed-worker-returns-in-its-container/claim.rs"]
mod c02;

use std::fs;

use stoker_testkit::cluster::Namespace;
use stoker_testkit::git::http::HttpServer;
use stoker_testkit::git::{Oid, Repo, ignition};
use stoker_testkit::images;
use stoker_testkit::node::{Exposed, Node, Pod};
use stoker_testkit::wait::eventually;

const POD: &str = "plant-0";
const REPORT: &[&str] =
    &["get", "configmap", "stoker-status-plant-0", "--output=jsonpath={.data.plant-0}"];

/// A repository that pods reach.
struct World {
    node: &'static Node,
    commit: Oid,
    url: String,
    _served: (Repo, HttpServer, Exposed),
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
        Some(Self { node, commit, url, _served: (repo, server, exposed) })
    }

    /// Starts an agent in a namespace and waits until it has synced.
    fn start<'a>(&self, namespace: &'a Namespace<'a>, security: &str) -> Pod<'a> {
        let manifest = include_str!("pod.yaml")
            .replace("IMAGE", &images::load(self.node).agent)
            .replace("SECURITY", security)
            .replace("COMMIT", self.commit.as_str())
            .replace("REPOSITORY", &self.url);
        namespace.apply(&manifest);
        let pod = self.node.pod(namespace, POD);
        // Ready is what the startup probe lets through: the first sync is done.
        pod.wait_ready();
        eventually("the report says so", || {
            let output = namespace.kubectl().args(REPORT).output().unwrap();
            let report = String::from_utf8_lossy(&output.stdout);
            report.contains("\"syncStatus\":\"Synced\"") && report.contains(self.commit.as_str())
        });
        pod
    }
}

/// Returns the processes of a namespace's agent, as this machine numbers them: those with this word
/// among their arguments.
fn processes(namespace: &Namespace<'_>, word: &str) -> Vec<u32> {
    let own = format!("POD_NAMESPACE={}", namespace.name());
    let holds = |pid: u32, file: &str, text: &str| {
        let bytes = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        bytes.split(|byte| *byte == 0).any(|part| part == text.as_bytes())
    };
    let numbers = fs::read_dir("/proc").unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|pid| holds(*pid, "environ", &own) && holds(*pid, "cmdline", word)).collect()
}
