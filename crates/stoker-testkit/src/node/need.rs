//! What a machine must have for a node: root, a few programs, a few features of the kernel.

use std::path::Path;
use std::process::{Command, Stdio};

use super::CNI_PLUGINS;
use crate::process::find_program;

/// Programs that come with the distribution, and Debian's package of each.
const PROGRAMS: &[(&str, &str)] = &[
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
    ("setpriv", "util-linux"),
    ("ip", "iproute2"),
    ("nft", "nftables"),
    ("containerd", "containerd"),
    ("ctr", "containerd"),
    ("runc", "runc"),
    ("busybox", "busybox-static"),
];

/// The first thing that is missing for a node here, as a sentence.
pub(super) fn unmet() -> Option<String> {
    if !rustix::process::getuid().is_root() {
        return Some("a node needs root".to_owned());
    }
    let missing = PROGRAMS.iter().find(|(program, _)| find_program(program.as_ref()).is_err());
    if let Some((program, package)) = missing {
        return Some(format!("a node needs {program} (Debian package {package})"));
    }
    if !Path::new(CNI_PLUGINS).join("bridge").is_file() {
        return Some("a node needs Debian package containernetworking-plugins".to_owned());
    }
    let bridge = ["ip", "link", "add", "br-probe", "type", "bridge"];
    let probes = [
        (&["true"][..], "private network, mount and process namespaces"),
        (&bridge[..], "the bridge network device in the kernel"),
        (&["nft", "list", "ruleset"][..], "nftables in the kernel"),
    ];
    let unmet = probes.iter().find(|(command, _)| !works_inside(command));
    unmet.map(|(_, feature)| format!("a node needs {feature}"))
}

fn works_inside(command: &[&str]) -> bool {
    Command::new("unshare")
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"])
        .args(command)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
