//! Finds the programs of the test cluster, or builds them from the Go module registry.
//!
//! `KUBEBUILDER_ASSETS` comes first, then PATH (only in the version that we test on), then the
//! cache; what is in none of them is built once per pin and kept outside the checkout, so that a
//! second clone needs neither the network nor the minutes.

mod build;
mod pin;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use build::Error;

/// A program that the test cluster is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Program {
    /// The store behind the API server.
    Etcd,
    /// The API server itself.
    ApiServer,
    /// Service accounts, garbage collection, certificate signing, workloads.
    ControllerManager,
    /// Gives pods to nodes.
    Scheduler,
    /// Runs pods on a node.
    Kubelet,
    /// Makes Services reachable on a node.
    KubeProxy,
    /// The command line that users have.
    Kubectl,
    /// Answers names inside the cluster.
    CoreDns,
    /// Installs charts, as users do.
    Helm,
    /// Tests alerts, as Prometheus evaluates them.
    Promtool,
}

impl Program {
    /// Everything that a control plane without a node needs, and kubectl to talk to it.
    pub const CONTROL_PLANE: &[Self] =
        &[Self::Etcd, Self::ApiServer, Self::ControllerManager, Self::Kubectl];

    /// What a node needs beyond the control plane, and Helm to install on it.
    pub const NODE: &[Self] =
        &[Self::Scheduler, Self::Kubelet, Self::KubeProxy, Self::CoreDns, Self::Helm];

    /// Finds a program by its file name.
    pub fn find(name: &str) -> Option<Self> {
        let extra = [Self::Promtool];
        let mut all = Self::CONTROL_PLANE.iter().chain(Self::NODE).chain(&extra);
        all.find(|program| program.file_name() == name).copied()
    }

    /// The file name of the program.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Kubelet => "kubelet",
            Self::KubeProxy => "kube-proxy",
            Self::Kubectl => "kubectl",
            Self::CoreDns => "coredns",
            Self::Helm => "helm",
            Self::Promtool => "promtool",
        }
    }
}

/// Returns where the program is, building it first if no place has it.
pub fn locate(program: Program) -> Result<PathBuf, Error> {
    if let Some(found) = in_assets(program).or_else(|| in_path(program)) {
        return Ok(found);
    }
    build::cached_or_built(program)
}

fn in_assets(program: Program) -> Option<PathBuf> {
    let candidate = PathBuf::from(env::var_os("KUBEBUILDER_ASSETS")?).join(program.file_name());
    candidate.is_file().then_some(candidate)
}

/// PATH counts only in the minor version that we test on: a kubectl of another age explains fields
/// differently, and a kubelet of another age may refuse the node altogether.
fn in_path(program: Program) -> Option<PathBuf> {
    let found = env::split_paths(&env::var_os("PATH")?)
        .map(|directory| directory.join(program.file_name()))
        .find(|candidate| candidate.is_file())?;
    reports_version(&found, pin::of(program)).then_some(found)
}

fn reports_version(program: &Path, pin: &pin::Pin) -> bool {
    let arguments: &[&str] = match program.file_name().and_then(|name| name.to_str()) {
        Some("kubectl") => &["version", "--client"],
        Some("helm") => &["version", "--short"],
        Some("coredns") => &["-version"],
        _ => &["--version"],
    };
    Command::new(program).args(arguments).output().is_ok_and(|output| {
        output.status.success() && pin.accepts(&String::from_utf8_lossy(&output.stdout))
    })
}
