//! The node's network: loopback, one bridge as its interface, a default route.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, ensure};

/// Sets up the network of the namespace that this process is in.
pub(super) fn set_up() -> anyhow::Result<()> {
    ip(&["link", "set", "lo", "up"])?;
    // A bridge, because not every kernel has the dummy device.
    ip(&["link", "add", "br-node", "type", "bridge"])?;
    ip(&["address", "add", "10.99.0.1/24", "dev", "br-node"])?;
    ip(&["link", "set", "br-node", "up"])?;
    // Service addresses are routed before nftables rewrites them: without a route they are refused.
    ip(&["route", "add", "default", "dev", "br-node"])?;
    for (key, needed) in [
        ("net/ipv4/ip_forward", true),
        ("net/ipv4/conf/all/route_localnet", true),
        ("net/bridge/bridge-nf-call-iptables", false), // only where the module is there
    ] {
        let result = fs::write(format!("/proc/sys/{key}"), "1");
        if needed {
            result.with_context(|| format!("failed to switch on {key}"))?;
        }
    }
    Ok(())
}

fn ip(arguments: &[&str]) -> anyhow::Result<()> {
    let output = Command::new("ip").args(arguments).output().context("failed to run ip")?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "ip {}: {}", arguments.join(" "), text.trim());
    Ok(())
}
