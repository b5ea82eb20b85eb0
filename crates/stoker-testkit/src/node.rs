//! A real node: kubelet, containerd, runc, CNI, kube-proxy and DNS, all inside private namespaces.
//!
//! Pods really start here. The API server and anything else inside is reachable from the test
//! through [`Node::cluster`] and [`Node::forward`]; nothing of this machine's own network is
//! touched. Where root or a feature of the kernel is missing, [`Node::or_skip`] says so in one
//! line.

pub(crate) mod inside;
mod load;
mod need;
mod pod;
mod policy;
mod relay;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

pub use inside::run as run_inside;
pub use pod::{Pod, agent_processes, signal};
pub use policy::Enforced;
pub use relay::{Cut, Exposed};

use crate::cluster::{Cluster, Kind, Namespace};
use crate::skip;

/// Where Debian's package puts the network plugins.
pub(crate) const CNI_PLUGINS: &str = "/usr/lib/cni";

/// A part of the node that tests may kill and start again, or suspend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Component {
    /// Serves the Kubernetes API.
    ApiServer,
    /// Runs pods.
    Kubelet,
    /// Runs containers.
    Containerd,
}

/// A cluster with a real node.
#[derive(Debug)]
pub struct Node {
    cluster: Cluster,
}

/// A component that does not run until this value is dropped.
#[derive(Debug)]
#[must_use = "the component runs again when this value is dropped"]
pub struct Suspended<'a> {
    node: &'a Node,
    component: Component,
}

impl Drop for Suspended<'_> {
    fn drop(&mut self) {
        let request = inside::Request::Resume(self.component.name());
        request.send(self.node.cluster.directory()).ok(); // a node that is gone needs no signal
    }
}

impl Component {
    fn name(self) -> String {
        match self {
            Self::ApiServer => "apiserver".to_owned(),
            Self::Kubelet => "kubelet".to_owned(),
            Self::Containerd => "containerd".to_owned(),
        }
    }
}

impl Node {
    /// The node of this test run, started on first use; `None`, and the calling test counted as
    /// skipped, where this machine can't have one. With `STOKER_REQUIRE_NODE` set that is a
    /// failure.
    ///
    /// # Panics
    /// When the node should come up here and does not.
    pub fn or_skip() -> Option<&'static Self> {
        static SHARED: OnceLock<Result<Node, String>> = OnceLock::new();
        match SHARED.get_or_init(Self::required) {
            Ok(node) => Some(node),
            Err(missing) => {
                let required = std::env::var_os("STOKER_REQUIRE_NODE").is_some();
                assert!(!required, "a node is required here, but {missing}");
                skip::record(missing);
                None
            }
        }
    }

    /// The node of this test run where this machine can have one.
    pub fn if_possible() -> Option<Self> {
        need::unmet()
            .is_none()
            .then(|| Cluster::connect(Kind::Node).ok())?
            .map(|cluster| Self { cluster })
    }

    /// The node of this test run; otherwise what this machine lacks for one.
    ///
    /// # Panics
    /// When the node should come up here and does not.
    pub fn required() -> Result<Self, String> {
        need::unmet().map_or(Ok(()), Err)?;
        match Cluster::connect(Kind::Node) {
            Ok(cluster) => Ok(Self { cluster }),
            Err(error) => panic!("{}", crate::chain(&error)),
        }
    }

    /// The cluster that this node belongs to.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// A pod on this node.
    pub fn pod<'a>(&self, namespace: &'a Namespace<'a>, name: &'a str) -> Pod<'a> {
        Pod { namespace, name }
    }

    /// Kills the first process of a pod's container, a sidecar's too, with SIGKILL.
    ///
    /// # Panics
    /// When the container does not run.
    pub fn kill_container(&self, namespace: &str, pod: &str, container: &str) {
        self.kill_task(&self.container_id(namespace, pod, container));
    }

    /// The id of a pod's container, a sidecar's too, as containerd knows it.
    ///
    /// # Panics
    /// When the container does not run.
    pub fn container_id(&self, namespace: &str, pod: &str, container: &str) -> String {
        let id = |list: &str| format!("{{.status.{list}[?(@.name=='{container}')].containerID}}");
        let ids = id("containerStatuses") + &id("initContainerStatuses");
        let mut get = self.cluster.kubectl();
        get.args(["get", "pod", pod, "--namespace", namespace, "--output"]);
        let found = succeed(get.arg(format!("jsonpath={ids}")));
        found.strip_prefix("containerd://").expect("the container runs").to_owned()
    }

    /// Kills the first process of a container with SIGKILL, by the id of the container: this works
    /// without the API server.
    ///
    /// # Panics
    /// When the container does not run.
    pub fn kill_task(&self, id: &str) {
        let mut ctr = ctr(self.cluster.directory());
        ctr.args(["task", "kill", "--signal", "SIGKILL", id]);
        succeed(&mut self.inside(&ctr));
    }

    /// Gives an image that is on the node another name, too.
    ///
    /// # Panics
    /// When the image is not there.
    pub fn tag(&self, image: &str, name: &str) {
        let mut ctr = ctr(self.cluster.directory());
        ctr.args(["image", "tag", "--force", image, name]);
        succeed(&mut self.inside(&ctr));
    }

    /// Kills a component with SIGKILL.
    pub fn kill(&self, component: Component) {
        self.request(&inside::Request::Kill(component.name()));
    }

    /// Stops a component with SIGSTOP: its connections stay open and nothing responds on them.
    pub fn suspend(&self, component: Component) -> Suspended<'_> {
        self.request(&inside::Request::Suspend(component.name()));
        Suspended { node: self, component }
    }

    /// Starts a killed component again and returns when it responds. A kubelet that starts before
    /// containerd gives up at once, and no service manager here tries again.
    ///
    /// # Panics
    /// When it does not respond within half a minute.
    pub fn start_again(&self, component: Component) {
        self.request(&inside::Request::Start(component.name()));
        let mut probe = match component {
            Component::Kubelet => return,
            Component::ApiServer => {
                let mut ready = self.cluster.kubectl();
                ready.args(["get", "--raw", "/readyz", "--request-timeout=2s"]);
                ready
            }
            Component::Containerd => self.inside(ctr(self.cluster.directory()).arg("version")),
        };
        let responds = || probe.output().is_ok_and(|output| output.status.success());
        let tries = std::iter::repeat_with(responds).take(300);
        let mut paced = tries.inspect(|_| std::thread::sleep(Duration::from_millis(100)));
        assert!(paced.any(|responded| responded), "{component:?} does not respond");
    }

    /// The same command, run on the node's network and with its mounts.
    pub fn inside(&self, command: &Command) -> Command {
        let pid = self.cluster.init_pid().expect("this cluster has a node").to_string();
        let mut wrapped = Command::new("nsenter");
        wrapped.args(["--target", &pid, "--net", "--mount", "--"]);
        wrapped.arg(command.get_program()).args(command.get_args());
        wrapped
    }

    /// A loopback address that leads to `target` (`address:port`) on the node's network.
    pub fn forward(&self, target: &str) -> SocketAddr {
        relay::forward(self.cluster.directory(), target).expect("a loopback port")
    }

    /// Gives a server that listens outside, such as a git server of a test, an address that pods
    /// reach.
    pub fn expose(&self, server: SocketAddr) -> Exposed {
        relay::expose(self.cluster.directory(), server).expect("the node answers requests")
    }

    fn request(&self, request: &inside::Request) {
        request.send(self.cluster.directory()).expect("the node answers requests");
    }
}

/// Runs a command that must succeed and returns what it printed.
///
/// # Panics
/// With the command's own words when it fails.
pub fn succeed(command: &mut Command) -> String {
    let output = command.output().expect("the program is on this machine");
    let (stdout, stderr) = (&output.stdout, &output.stderr);
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(stderr));
    String::from_utf8_lossy(stdout).into_owned()
}

fn containerd_socket(directory: &Path) -> PathBuf {
    directory.join("containerd.sock")
}

fn ctr(directory: &Path) -> Command {
    let mut command = Command::new("ctr");
    command.arg("--address").arg(containerd_socket(directory)).args(["--namespace", "k8s.io"]);
    command
}
