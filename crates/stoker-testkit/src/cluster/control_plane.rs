//! etcd, kube-apiserver and kube-controller-manager, wired together.

use std::net::{IpAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::component::{self, Components};
use super::pki::{self, Identity, Pki};
use crate::program::{self, Program};

/// Where there is a node: which requests the API server writes to `audit.log`, for those who count
/// them.
const AUDIT_POLICY: &str = r#"{
  "apiVersion": "audit.k8s.io/v1",
  "kind": "Policy",
  "omitStages": ["RequestReceived"],
  "rules": [
    {"level": "None", "userGroups": ["system:serviceaccounts:kube-system"]},
    {"level": "Metadata", "userGroups": ["system:serviceaccounts"]},
    {"level": "None"}
  ]
}"#;

/// Service addresses of every test cluster.
const SERVICE_RANGE: &str = "10.96.0.0/16";
/// The address at which pods find the API server.
const KUBERNETES_SERVICE: &str = "10.96.0.1";
/// Pod addresses where there is a node.
pub(crate) const POD_RANGE: &str = "10.244.0.0/16";

/// Why the control plane did not come up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A program is missing and can't be built.
    #[error("failed to get the programs of the control plane")]
    Program(#[source] program::Error),
    /// Certificates could not be made.
    #[error("failed to make the cluster's certificates")]
    Pki(#[source] pki::Error),
    /// A component did not come up.
    #[error("failed to bring the control plane up")]
    Component(#[source] component::Error),
    /// The audit policy could not be written.
    #[error("failed to write {}", path.display())]
    AuditPolicy { path: PathBuf, source: std::io::Error },
    /// No free port.
    #[error("failed to find a free port on {address}")]
    Port { address: IpAddr, source: std::io::Error },
}

/// A control plane that answers.
#[derive(Debug)]
pub(crate) struct ControlPlane {
    /// Where the API server listens.
    pub(crate) server: String,
    /// A kubeconfig of `system:masters`.
    pub(crate) kubeconfig: PathBuf,
    /// The authority behind all certificates.
    pub(crate) pki: Pki,
    kubectl: PathBuf,
}

/// Where and how large a control plane is to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout<'a> {
    /// Everything that it writes is below this.
    pub(crate) directory: &'a Path,
    /// Where the API server listens.
    pub(crate) address: IpAddr,
    /// Whether the controllers hand out pod ranges to nodes.
    pub(crate) with_node: bool,
}

impl ControlPlane {
    /// Brings it up and waits until controllers work, not only until the API server answers.
    pub(crate) fn start(components: &mut Components, layout: Layout<'_>) -> Result<Self, Error> {
        let pki = Pki::create(&layout.directory.join("pki")).map_err(Error::Pki)?;
        let [client, peer, secure] = free_ports(layout.address)?;
        let server = format!("https://{}:{secure}", layout.address);
        let host = layout.address.to_string();
        let names = ["127.0.0.1", "localhost", &host, KUBERNETES_SERVICE, "kubernetes.default.svc"];
        let apiserver = Identity { user: "kube-apiserver", group: None };
        pki.issue("apiserver", apiserver, &names).map_err(Error::Pki)?;
        let admin = Identity { user: "admin", group: Some("system:masters") };
        let kubeconfig = pki.kubeconfig("admin", admin, &server).map_err(Error::Pki)?;
        let kubectl = program::locate(Program::Kubectl).map_err(Error::Program)?;
        let plane = Self { server, kubeconfig, pki, kubectl };

        let mut start = |name, command| components.start(name, &command).map_err(Error::Component);
        start("etcd", etcd(client, peer)?)?;
        start("apiserver", apiserver_command(&plane, layout, client, secure)?)?;
        plane.wait(components, "API server readiness", &["get", "--raw", "/readyz"])?;
        let controllers = controllers(&plane, layout)?;
        components.start("controller-manager", &controllers).map_err(Error::Component)?;
        let account = ["get", "serviceaccount", "default", "--namespace", "default"];
        plane.wait(components, "the first service account", &account)?;
        Ok(plane)
    }

    /// Waits until a kubectl call succeeds.
    pub(crate) fn wait(
        &self,
        components: &mut Components,
        what: &str,
        arguments: &[&str],
    ) -> Result<(), Error> {
        let succeeds = || {
            let mut command = Command::new(&self.kubectl);
            command.arg("--kubeconfig").arg(&self.kubeconfig).args(arguments);
            command.output().is_ok_and(|output| output.status.success())
        };
        components.wait_until(what, Duration::from_secs(90), succeeds).map_err(Error::Component)
    }
}

fn etcd(client: u16, peer: u16) -> Result<Command, Error> {
    let mut command = Command::new(program::locate(Program::Etcd).map_err(Error::Program)?);
    let url = format!("http://127.0.0.1:{client}");
    command
        .args(["--data-dir", "etcd", "--unsafe-no-fsync", "--log-level", "error"])
        .args(["--listen-client-urls", &url, "--advertise-client-urls", &url])
        .args(["--listen-peer-urls", &format!("http://127.0.0.1:{peer}")]);
    Ok(command)
}

fn apiserver_command(
    plane: &ControlPlane,
    layout: Layout<'_>,
    etcd: u16,
    secure: u16,
) -> Result<Command, Error> {
    let mut command = Command::new(program::locate(Program::ApiServer).map_err(Error::Program)?);
    let file = |name: &str| plane.pki.path(name).display().to_string();
    command
        .arg(format!("--etcd-servers=http://127.0.0.1:{etcd}"))
        .arg(format!("--bind-address={}", layout.address))
        .arg(format!("--advertise-address={}", layout.address))
        .arg(format!("--secure-port={secure}"))
        .arg(format!("--service-cluster-ip-range={SERVICE_RANGE}"))
        .arg("--allow-privileged=true")
        .arg("--authorization-mode=Node,RBAC")
        .arg("--enable-admission-plugins=NodeRestriction")
        // Off by default, and known to every version; the oldest one serves no such kind.
        .arg("--feature-gates=ClusterTrustBundle=true")
        .arg("--runtime-config=certificates.k8s.io/v1beta1/clustertrustbundles=true")
        .arg(format!("--client-ca-file={}", file("ca.crt")))
        .arg(format!("--tls-cert-file={}", file("apiserver.crt")))
        .arg(format!("--tls-private-key-file={}", file("apiserver.key")))
        .arg("--service-account-issuer=https://kubernetes.default.svc")
        .arg(format!("--service-account-key-file={}", file("sa.pub")))
        .arg(format!("--service-account-signing-key-file={}", file("sa.key")))
        .arg(format!("--kubelet-client-certificate={}", file("admin.crt")))
        .arg(format!("--kubelet-client-key={}", file("admin.key")))
        .arg("--kubelet-preferred-address-types=InternalIP")
        .arg("--cert-dir=certs");
    if layout.with_node {
        let path = layout.directory.join("audit-policy.json");
        let written = std::fs::write(&path, AUDIT_POLICY);
        command.arg(format!("--audit-policy-file={}", path.display()));
        command.arg(format!("--audit-log-path={}", layout.directory.join("audit.log").display()));
        written.map_err(|source| Error::AuditPolicy { path, source })?;
    }
    Ok(command)
}

fn controllers(plane: &ControlPlane, layout: Layout<'_>) -> Result<Command, Error> {
    let identity = Identity { user: "system:kube-controller-manager", group: None };
    let kubeconfig = plane
        .pki
        .kubeconfig("controller-manager", identity, &plane.server)
        .map_err(Error::Pki)?
        .display()
        .to_string();
    let file = |name: &str| plane.pki.path(name).display().to_string();
    let [secure] = free_ports(IpAddr::from([127, 0, 0, 1]))?;
    let mut command =
        Command::new(program::locate(Program::ControllerManager).map_err(Error::Program)?);
    command
        .arg(format!("--kubeconfig={kubeconfig}"))
        .arg(format!("--authentication-kubeconfig={kubeconfig}"))
        .arg(format!("--authorization-kubeconfig={kubeconfig}"))
        .arg(format!("--service-account-private-key-file={}", file("sa.key")))
        .arg(format!("--root-ca-file={}", file("ca.crt")))
        .arg(format!("--cluster-signing-cert-file={}", file("ca.crt")))
        .arg(format!("--cluster-signing-key-file={}", file("ca.key")))
        .arg(format!("--secure-port={secure}"))
        .args(["--use-service-account-credentials", "--leader-elect=false"])
        .args(["--bind-address=127.0.0.1", "--cert-dir=certs"]);
    if layout.with_node {
        command.arg("--allocate-node-cidrs=true").arg(format!("--cluster-cidr={POD_RANGE}"));
    } else {
        // It would collect the pods of tests: no node has them.
        command.arg("--controllers=*,-pod-garbage-collector-controller");
    }
    Ok(command)
}

/// Ports that were free a moment ago, all different because all are held until the last is found.
pub(crate) fn free_ports<const N: usize>(address: IpAddr) -> Result<[u16; N], Error> {
    let failed = |source| Error::Port { address, source };
    let mut held = Vec::with_capacity(N);
    for _ in 0..N {
        held.push(TcpListener::bind((address, 0)).map_err(failed)?);
    }
    let mut ports = [0; N];
    for (port, listener) in ports.iter_mut().zip(&held) {
        *port = listener.local_addr().map_err(failed)?.port();
    }
    Ok(ports)
}
