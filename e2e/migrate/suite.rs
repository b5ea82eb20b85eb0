//! Gateways move to Stoker from what served them before, by the commands that `stoker migrate`
//! prints, and no byte of their data directories changes.
//!
//! The claims share one installation; each has a namespace and a volume of its own.

#![expect(clippy::unwrap_used, reason = "a claim that can't go on has failed")]

#[path = "01-from-git-sync/claim.rs"]
mod c01;
#[path = "02-from-the-go-operator/claim.rs"]
mod c02;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::MutexGuard;

use stoker_e2e::Shared;
use stoker_testkit::cluster::Namespace;
use stoker_testkit::git::{Edit, Tree};
use stoker_testkit::image::{Image, sha256};
use stoker_testkit::node::{Node, succeed};
use stoker_testkit::quickstart::{self, Quickstart};
use stoker_testkit::wait::eventually;

/// A stand-in of git-sync under its name: it clones, and runs the script that copies.
const GIT_SYNC: &str = "registry.k8s.io/git-sync/git-sync:v4.4.0";
/// Where agents keep what they know, beside the gateway's files.
const STATE: &str = ".stoker";

/// Content, time of the last change, mode and owner of every file and directory.
type Files = BTreeMap<PathBuf, String>;

/// An installation of Stoker, for one claim at a time; `None` where this machine can't have a node.
fn world() -> Option<MutexGuard<'static, Quickstart<'static>>> {
    static WORLD: Shared<Quickstart<'static>> = Shared::new();
    WORLD.get(|node| {
        let quickstart = Quickstart::begin(node, quickstart::sample());
        let remote = "/usr/lib/git-core/git-remote-http";
        let image = Image::named(GIT_SYNC).with_busybox().expect("busybox is on this machine");
        let image = image.program("/usr/bin/git", Path::new("/usr/bin/git"));
        let image = image.and_then(|image| image.program(remote, Path::new(remote)));
        let image = image.expect("git is on this machine");
        let image = image.file("/copy.sh", include_bytes!("copy.sh"), 0o755);
        node.load(&image.entrypoint(["/copy.sh"]));
        quickstart.run(1..=1);
        quickstart
    })
}

/// A gateway with a volume that outlives its pod.
struct Site<'a> {
    world: &'a Quickstart<'static>,
    namespace: Namespace<'static>,
    /// The name of its StatefulSet, and of its GatewaySync.
    name: &'static str,
    directory: PathBuf,
}

impl<'a> Site<'a> {
    /// Makes its namespace and its volume.
    fn begin(world: &'a Quickstart<'static>, name: &'static str) -> Self {
        let node: &'static Node = world.node();
        let namespace = node.cluster().namespace();
        succeed(node.cluster().kubectl().args([
            "label",
            "namespace",
            namespace.name(),
            "stoker.io/injection=enabled",
        ]));
        let directory = node.cluster().directory().join(namespace.name());
        fs::create_dir_all(directory.join("data")).unwrap();
        let site = Self { world, namespace, name, directory };
        let volume = include_str!("volume.yaml").replace("NAMESPACE", site.namespace.name());
        let data = site.file("data").display().to_string();
        stoker_e2e::apply(node.cluster().kubectl(), &volume.replace("DIRECTORY", &data));
        site
    }

    /// A file beside the volume.
    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Everything on the volume but what agents keep for themselves.
    fn files(&self) -> Files {
        let mut files = Files::new();
        let data = self.file("data");
        let mut directories = vec![data.clone()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
                let (path, about) = (entry.path(), entry.metadata().unwrap());
                let name = path.strip_prefix(&data).unwrap().to_owned();
                if name == Path::new(STATE) {
                    continue;
                }
                let content = if about.is_dir() {
                    directories.push(path);
                    "a directory".to_owned()
                } else {
                    sha256(&[&fs::read(&path).unwrap()])
                };
                let (seconds, nanoseconds) = (about.mtime(), about.mtime_nsec());
                let (mode, user, group) = (about.mode(), about.uid(), about.gid());
                let about = format!("{seconds}.{nanoseconds:09} {mode:o} {user}:{group} {content}");
                files.insert(name, about);
            }
        }
        files
    }

    /// Runs `stoker migrate` and returns what it said; the manifests are in a file.
    fn migrate(&self, arguments: &[&str]) -> String {
        let own = std::env::current_exe().unwrap();
        let stoker = own.parent().unwrap().with_file_name("stoker");
        let mut command = Command::new(stoker);
        command.arg("migrate").args(arguments).args(["--namespace", self.namespace.name()]);
        command.arg("--to").arg(self.file("after.yaml"));
        let cluster = self.world.node().cluster();
        let output = command.env("KUBECONFIG", cluster.kubeconfig()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        said
    }

    /// Applies what `stoker migrate` wrote.
    fn apply_migrated(&self) {
        self.namespace.apply(&fs::read_to_string(self.file("after.yaml")).unwrap());
    }

    /// Runs a command that was printed for people.
    fn run(&self, command: &str) {
        let environment = self.world.environment().display().to_string();
        succeed(Command::new("bash").args(["-c", &format!(". {environment}; {command}")]));
    }

    fn kubectl(&self, arguments: &[&str]) -> String {
        succeed(self.namespace.kubectl().args(arguments))
    }

    /// The UID of the gateway's pod.
    fn pod(&self) -> String {
        let pod = format!("{}-0", self.name);
        let path = "--output=jsonpath={.metadata.uid}";
        self.kubectl(&["get", "pod", &pod, "--ignore-not-found", path])
    }

    /// Waits until another pod than this is ready.
    fn wait_for_pod_after(&self, before: &str) {
        eventually("there is a new pod", || ![before, ""].contains(&&*self.pod()));
        let pod = format!("pod/{}-0", self.name);
        self.kubectl(&["wait", &pod, "--for=condition=Ready", "--timeout=90s"]);
    }

    /// A field of the gateway, as the status has it.
    fn gateway(&self, field: &str) -> String {
        let path = format!("--output=jsonpath={{.status.discoveredGateways[0].{field}}}");
        self.kubectl(&["get", "gatewaysync", self.name, &path])
    }

    /// Waits until the gateway is synced by our agent, and by no other.
    fn wait_served_by_our_agent(&self) {
        let sync = format!("gatewaysync/{}", self.name);
        self.kubectl(&["wait", &sync, "--for=condition=Ready", "--timeout=90s"]);
        eventually("the gateway is Synced", || self.gateway("syncStatus") == "Synced");
        assert_eq!(self.gateway("restartNeeded"), "");
        let path = "--output=jsonpath={.spec.initContainers[*].image}";
        let images = self.kubectl(&["get", "pod", &format!("{}-0", self.name), path]);
        assert!(images.starts_with("ghcr.io/stoker-io/stoker-agent:"), "{images}");
        assert!(!images.contains(GIT_SYNC), "{images}");
    }

    /// Makes a commit and waits until the gateway has its file.
    fn wait_for_next_commit(&self) {
        let path = format!("projects/{}/project.json", self.name);
        let file = Tree::new().file(&path, r#"{"title": "after"}"#);
        self.world.repo().commit(Edit::put(file)).unwrap();
        eventually("the commit arrives", || self.file("data").join(&path).is_file());
    }
}
