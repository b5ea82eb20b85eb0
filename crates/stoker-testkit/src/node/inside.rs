//! The inside of a node: what runs as the first process of its namespaces.
//!
//! Network, mounts and processes are private, so the machine's own are not touched and killing that
//! first process ends every component, container and mount with it.

mod control;
mod kubelet;
mod name_service;
mod network;
mod runtime;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;

pub(crate) use control::Request;
pub(crate) use kubelet::remove_cgroups;

use super::relay;
use crate::cluster::{Components, ControlPlane, Identity, Layout, Pki};
use crate::program::{self, Program};

/// The node's address inside its network.
pub(crate) const ADDRESS: [u8; 4] = [10, 99, 0, 1];
/// The node's name.
pub(crate) const NAME: &str = "node1";

/// Written when everything is up: the API server's address inside.
const READY: &str = "ready";

/// Starts the namespaces from outside and waits for the node in them. Returns a kubeconfig that
/// works outside, and the first process of the namespaces.
pub(crate) fn enclose(
    components: &mut Components,
    directory: &Path,
) -> anyhow::Result<(PathBuf, u32)> {
    let mut command = Command::new("unshare");
    command
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"])
        .arg(std::env::current_exe().context("failed to find this program")?)
        .arg("node")
        .arg(directory);
    components.start("node", &command)?;
    let ready = directory.join(READY);
    components.wait_until("the node", Duration::from_secs(150), || ready.is_file())?;
    let server = fs::read_to_string(&ready).context("failed to read the API server's address")?;
    let target = server.strip_prefix("https://").context("the API server speaks https")?;
    let outside = relay::forward(directory, target).context("failed to forward the API server")?;
    let kubeconfig = Pki::open(&directory.join("pki")).kubeconfig(
        "outside",
        ADMIN,
        &format!("https://{outside}"),
    )?;
    let holder = components.pid("node").context("the node was started above")?;
    Ok((kubeconfig, only_child(holder)?))
}

const ADMIN: Identity<'static> = Identity { user: "admin", group: Some("system:masters") };

fn only_child(pid: u32) -> anyhow::Result<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))
        .context("failed to look at the node's processes")?;
    children.split_whitespace().next().context("unshare has a child")?.parse().context("a pid")
}

/// Runs inside: brings everything up, then serves requests until it is killed.
pub fn run(directory: &Path) -> anyhow::Result<()> {
    network::set_up().context("failed to set up the node's network")?;
    relay::serve(directory).context("failed to open the relay")?;
    let mut components = Components::in_directory(directory);
    let layout = Layout { directory, address: ADDRESS.into(), with_node: true };
    runtime::start(&mut components, directory).context("failed to start containerd")?;
    let plane = ControlPlane::start(&mut components, layout)?;
    scheduler(&mut components, &plane)?;
    kubelet::start(&mut components, directory, &plane)?;
    kubelet::start_proxy(&mut components, directory, &plane)?;
    name_service::start(&mut components, directory, &plane)?;
    runtime::load_pause(&mut components, directory)?;
    let ready = ["wait", "--for=condition=Ready", "node", NAME, "--timeout=1s"];
    plane.wait(&mut components, "the node's readiness", &ready)?;
    announce(directory, &plane.server).context("failed to say that the node is ready")?;
    control::serve(directory, components).context("failed to serve requests")
}

fn scheduler(components: &mut Components, plane: &ControlPlane) -> anyhow::Result<()> {
    let identity = Identity { user: "system:kube-scheduler", group: None };
    let kubeconfig = plane.pki.kubeconfig("scheduler", identity, &plane.server)?;
    let kubeconfig = kubeconfig.display();
    let mut command = Command::new(program::locate(Program::Scheduler)?);
    command
        .arg(format!("--kubeconfig={kubeconfig}"))
        .arg(format!("--authentication-kubeconfig={kubeconfig}"))
        .arg(format!("--authorization-kubeconfig={kubeconfig}"))
        .args(["--leader-elect=false", "--bind-address=127.0.0.1", "--cert-dir=certs"]);
    Ok(components.start("scheduler", &command)?)
}

/// By rename, so that whoever waits for the file never reads half of it.
fn announce(directory: &Path, server: &str) -> io::Result<()> {
    let fresh = directory.join("ready.new");
    fs::write(&fresh, server)?;
    fs::rename(fresh, directory.join(READY))
}
