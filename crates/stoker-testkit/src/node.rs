//! A real node: kubelet, containerd, runc, CNI, kube-proxy and DNS, all inside private namespaces.
//!
//! Pods really start here. The API server and anything else inside is reachable from the test
//! through [`Node::cluster`] and [`Node::forward`]; nothing of this machine's own network is
//! touched. Where root or a feature of the kernel is missing, [`Node::or_skip`] says so in one
//! line.

pub(crate) mod inside;
mod need;
mod pod;
mod relay;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

pub use inside::run as run_inside;
pub use pod::Pod;

use crate::cluster::{Cluster, Kind, Namespace};
use crate::image::Image;
use crate::skip;

/// Where Debian's package puts the network plugins.
pub(crate) const CNI_PLUGINS: &str = "/usr/lib/cni";

/// A part of the node that tests may kill and start again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Component {
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

impl Component {
    fn name(self) -> String {
        match self {
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
        match SHARED.get_or_init(Self::start) {
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

    fn start() -> Result<Self, String> {
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

    /// Puts an image on the node.
    pub fn load(&self, image: &Image) {
        let archive = tempfile::Builder::new().suffix(".tar").tempfile().expect("a temporary file");
        image.save(archive.path()).expect("the parts of an image are readable");
        let mut ctr = ctr(self.cluster.directory());
        ctr.args(["image", "import"]).arg(archive.path());
        succeed(&mut self.inside(&ctr));
    }

    /// A pod on this node.
    pub fn pod<'a>(&self, namespace: &'a Namespace<'a>, name: &'a str) -> Pod<'a> {
        Pod { namespace, name }
    }

    /// Kills a component with SIGKILL.
    pub fn kill(&self, component: Component) {
        self.request(&inside::Request::Kill(component.name()));
    }

    /// Starts a killed component again. For containerd, returns when it answers: a kubelet that
    /// starts before it gives up at once, and no service manager here tries again.
    ///
    /// # Panics
    /// When it does not answer within half a minute.
    pub fn start_again(&self, component: Component) {
        self.request(&inside::Request::Start(component.name()));
        if component == Component::Containerd {
            let mut version = self.inside(ctr(self.cluster.directory()).arg("version"));
            let answers = || version.output().is_ok_and(|output| output.status.success());
            let tries = std::iter::repeat_with(answers).take(300);
            let mut paced = tries.inspect(|_| std::thread::sleep(Duration::from_millis(100)));
            assert!(paced.any(|answered| answered), "containerd does not answer");
        }
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
