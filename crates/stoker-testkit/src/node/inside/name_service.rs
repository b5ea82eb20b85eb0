//! Names inside the cluster: `CoreDNS` as a process on the node, behind the well-known address.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::cluster::{Components, ControlPlane, Identity};
use crate::program::{self, Program};

/// Where pods ask for names.
pub(super) const ADDRESS: &str = "10.96.0.10";
const ACCOUNT: &str = "system:coredns";

/// Starts `CoreDNS` and makes the Service that leads to it.
pub(super) fn start(
    components: &mut Components,
    directory: &Path,
    plane: &ControlPlane,
) -> anyhow::Result<()> {
    let identity = Identity { user: ACCOUNT, group: None };
    let kubeconfig = plane.pki.kubeconfig("dns", identity, &plane.server)?;
    let corefile = directory.join("Corefile");
    fs::write(&corefile, configuration(&kubeconfig))?;
    apply(plane)?;
    let mut command = Command::new(program::locate(Program::CoreDns)?);
    command.arg("-conf").arg(corefile);
    Ok(components.start("dns", &command)?)
}

/// Two server blocks: within one, the catch-all would answer before the cluster's own names.
fn configuration(kubeconfig: &Path) -> String {
    let address = std::net::IpAddr::from(super::ADDRESS);
    format!(
        "cluster.local in-addr.arpa {{\n  bind {address}\n  errors\n  \
         kubernetes cluster.local in-addr.arpa {{\n    kubeconfig {}\n    ttl 5\n  }}\n}}\n\
         . {{\n  bind {address}\n  template ANY ANY . {{\n    rcode NXDOMAIN\n  }}\n}}\n",
        kubeconfig.display()
    )
}

fn apply(plane: &ControlPlane) -> anyhow::Result<()> {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects()});
    let mut child = Command::new(program::locate(Program::Kubectl)?)
        .arg("--kubeconfig")
        .arg(&plane.kubeconfig)
        .args(["apply", "--filename", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("failed to run kubectl")?;
    let mut stdin = child.stdin.take().context("stdin is piped")?;
    stdin.write_all(list.to_string().as_bytes())?;
    drop(stdin);
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn objects() -> [Value; 4] {
    let ports = json!([
        {"name": "dns", "port": 53, "protocol": "UDP"},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
    ]);
    let rbac = "rbac.authorization.k8s.io";
    [
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole",
            "metadata": {"name": "coredns"},
            "rules": [
                {"apiGroups": [""], "resources": ["services", "pods", "namespaces", "endpoints"],
                 "verbs": ["list", "watch"]},
                {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"],
                 "verbs": ["list", "watch"]},
            ],
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding",
            "metadata": {"name": "coredns"},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "coredns"},
            "subjects": [{"apiGroup": rbac, "kind": "User", "name": ACCOUNT}],
        }),
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "kube-dns", "namespace": "kube-system"},
            "spec": {"clusterIP": ADDRESS, "ports": &ports},
        }),
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {"name": "kube-dns-node", "namespace": "kube-system",
                         "labels": {"kubernetes.io/service-name": "kube-dns"}},
            "addressType": "IPv4", "ports": &ports,
            "endpoints": [{"addresses": [std::net::IpAddr::from(super::ADDRESS)],
                           "conditions": {"ready": true}}],
        }),
    ]
}
