//! kubelet and kube-proxy, and the control groups below which pods run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{ADDRESS, NAME, name_service};
use crate::cluster::{Components, ControlPlane, Identity, POD_RANGE};
use crate::program::{self, Program};

/// Starts the kubelet.
pub(super) fn start(
    components: &mut Components,
    directory: &Path,
    plane: &ControlPlane,
) -> anyhow::Result<()> {
    let address = std::net::IpAddr::from(ADDRESS).to_string();
    let user = format!("system:node:{NAME}");
    let identity = Identity { user: &user, group: Some("system:nodes") };
    plane.pki.issue("kubelet", identity, &[NAME, "127.0.0.1", &address])?;
    let kubeconfig = plane.pki.write_kubeconfig("kubelet", &plane.server)?;
    let resolver = directory.join("resolv.conf");
    fs::write(&resolver, format!("nameserver {}\n", name_service::ADDRESS))?;
    create_cgroups(directory);
    let configuration = directory.join("kubelet.json");
    fs::write(&configuration, kubelet_configuration(directory, plane).to_string())?;
    let mut command = Command::new(program::locate(Program::Kubelet)?);
    command
        .arg("--config")
        .arg(configuration)
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(["--hostname-override", NAME, "--node-ip", &address, "--root-dir"])
        .arg(directory.join("kubelet"));
    Ok(components.start("kubelet", &command)?)
}

/// Starts kube-proxy.
pub(super) fn start_proxy(
    components: &mut Components,
    directory: &Path,
    plane: &ControlPlane,
) -> anyhow::Result<()> {
    let identity = Identity { user: "system:kube-proxy", group: None };
    let kubeconfig = plane.pki.kubeconfig("proxy", identity, &plane.server)?;
    let configuration = serde_json::json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clientConnection": {"kubeconfig": kubeconfig},
        "clusterCIDR": POD_RANGE,
        "hostnameOverride": NAME,
        // Zero leaves the kernel's own limits alone: they can't be raised from a namespace.
        "conntrack": {"maxPerCore": 0, "min": 0},
    });
    let file = directory.join("proxy.json");
    fs::write(&file, configuration.to_string())?;
    let mut command = Command::new(program::locate(Program::KubeProxy)?);
    command.arg("--config").arg(file);
    Ok(components.start("proxy", &command)?)
}

fn kubelet_configuration(directory: &Path, plane: &ControlPlane) -> serde_json::Value {
    serde_json::json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "failCgroupV1": false,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": format!("/{}", cgroup_name(directory)),
        "containerRuntimeEndpoint":
            format!("unix://{}", super::super::containerd_socket(directory).display()),
        "clusterDNS": [name_service::ADDRESS],
        "clusterDomain": "cluster.local",
        "authentication": {
            "x509": {"clientCAFile": plane.pki.path("ca.crt")},
            "webhook": {"enabled": true},
            "anonymous": {"enabled": false},
        },
        "authorization": {"mode": "Webhook"},
        "failSwapOn": false,
        "maxPods": 250,
        "resolvConf": directory.join("resolv.conf"),
        "podLogsDir": directory.join("podlogs"),
        "tlsCertFile": plane.pki.path("kubelet.crt"),
        "tlsPrivateKeyFile": plane.pki.path("kubelet.key"),
        // Developers' disks are fuller than a cloud's, and a share of a large one is much.
        "evictionHard":
            {"memory.available": "100Mi", "nodefs.available": "20Mi", "imagefs.available": "20Mi"},
        // Never: images come from archives, and one that was collected can't be pulled again.
        "imageGCHighThresholdPercent": 100,
    })
}

/// One group per cluster directory: two clusters on one machine must not empty each other's.
fn cgroup_name(directory: &Path) -> String {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    format!("stoker-{name}")
}

/// Version 1 has a tree per controller, version 2 has one.
fn cgroups(directory: &Path) -> Vec<PathBuf> {
    let (mounted, name) = (Path::new("/sys/fs/cgroup"), cgroup_name(directory));
    if mounted.join("cgroup.controllers").is_file() {
        return vec![mounted.join(name)];
    }
    let Ok(controllers) = fs::read_dir(mounted) else { return Vec::new() };
    controllers.flatten().map(|controller| controller.path().join(&name)).collect()
}

fn create_cgroups(directory: &Path) {
    for group in cgroups(directory) {
        fs::create_dir(group).ok(); // the kubelet names the one that it misses
    }
}

/// Removes the control groups of a cluster that no longer runs. The kernel takes a moment to let go
/// of killed processes, so what is still busy is tried again.
pub(crate) fn remove_cgroups(directory: &Path) {
    for group in cgroups(directory) {
        for _ in 0..50 {
            if remove_group(&group).is_ok() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

fn remove_group(group: &Path) -> io::Result<()> {
    if !group.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(group)?.flatten().filter(|entry| entry.path().is_dir()) {
        remove_group(&entry.path())?;
    }
    fs::remove_dir(group)
}
