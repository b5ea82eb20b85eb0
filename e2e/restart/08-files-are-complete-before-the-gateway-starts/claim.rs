//! A gateway on an empty volume: its process starts when all files of the commit are there, and not
//! before. The agent may take its time: with a fifth of a core nothing restarts it.

use std::fs;
use std::time::Instant;

use stoker_testkit::git::{Edit, Tree};
use stoker_testkit::quickstart::NAMESPACE;
use stoker_testkit::wait::eventually;

const FILES: u32 = 50_000;
/// The last line of every file.
const WHOLE: &str = "whole";
const BRANCH: &str = "first-start";
const POD: &str = "first-start-0";
const RESTARTS: &str = "{.status.initContainerStatuses[*].restartCount} \
     {.status.containerStatuses[*].restartCount}";

// R2: a file of the seed step is replaced.
// F10, S7: 50,000 files with 200m of a processor.
#[test]
fn c08_a_gateway_finds_all_files_of_the_commit_when_it_starts() {
    let Some(world) = super::world() else { return };
    let tree = (0..FILES).fold(Tree::new(), |tree, number| {
        let path = format!("{}/data.json", directory(number));
        tree.file(path, format!("{{\"number\": {number}}}\n{WHOLE}\n"))
    });
    world.quickstart.repo().commit_to(BRANCH, Edit::put(tree)).unwrap();
    let manifest = include_str!("statefulset.yaml")
        .replace("NAMESPACE", NAMESPACE)
        .replace("REPOSITORY", world.quickstart.url())
        .replace("WHOLE", WHOLE)
        .replace("SEED", &directory(0));
    let started = Instant::now();
    world.apply(&manifest);
    let field = |path: &str| {
        let output = format!("--output=jsonpath={path}");
        world.kubectl(&["get", "pod", POD, "--ignore-not-found", &output])
    };
    eventually("the pod exists", || !field("{.metadata.uid}").is_empty());
    world.kubectl(&["wait", "pod", POD, "--for=condition=Ready", "--timeout=8m"]);
    let seconds = started.elapsed().as_secs();
    let pods = world.node().cluster().directory().join("kubelet/pods");
    let volume = pods.join(field("{.metadata.uid}")).join("volumes/kubernetes.io~empty-dir/data");
    let found = fs::read_to_string(volume.join("at-start")).unwrap();
    assert_eq!(found.trim(), format!("{FILES} {FILES}"), "files, and whole ones");
    // The seed step, the agent, the gateway.
    assert_eq!(field(RESTARTS), "0 0 0", "nothing was restarted");
    eprintln!(
        "{FILES} files were there {seconds} s after the pod was made, with a fifth of a core"
    );
    for kind in ["statefulset", "gatewaysync"] {
        world.kubectl(&["delete", kind, BRANCH, "--timeout=3m"]);
    }
}

fn directory(number: u32) -> String {
    format!("projects/line-{}/r{number}", number % 100)
}
