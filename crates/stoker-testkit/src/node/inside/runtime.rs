//! containerd with everything of its own, and the image that holds a pod's namespaces open.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};

use crate::cluster::Components;
use crate::image::{Compression, Image};

const PAUSE: &str = "stoker.test/pause:1";

/// Starts containerd, its CNI network configured.
pub(super) fn start(components: &mut Components, directory: &Path) -> anyhow::Result<()> {
    let network = directory.join("cni");
    fs::create_dir_all(&network)?;
    fs::write(network.join("10-pods.conflist"), pod_network(directory).to_string())?;
    let file = directory.join("containerd.toml");
    fs::write(&file, configuration(directory))?;
    let mut command = Command::new("containerd");
    command.arg("--config").arg(&file);
    Ok(components.start("containerd", &command)?)
}

/// Imports the pause image as soon as containerd answers.
pub(super) fn load_pause(components: &mut Components, directory: &Path) -> anyhow::Result<()> {
    let archive = directory.join("pause.tar");
    let pause = Image::named(PAUSE).with_busybox()?.entrypoint(["/bin/sleep", "2147483647"]);
    pause.save(&archive, Compression::None)?;
    let socket = super::super::containerd_socket(directory);
    components.wait_until("containerd", Duration::from_secs(30), || socket.exists())?;
    let output = super::super::ctr(directory)
        .args(["image", "import"])
        .arg(&archive)
        .output()
        .context("failed to run ctr")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// `restrict_oom_score_adj`: lowering the score needs a capability that machines without
/// `CAP_SYS_RESOURCE` lack, and then every pod dies before its first process.
fn configuration(directory: &Path) -> String {
    let at = |name: &str| directory.join(name).display().to_string();
    format!(
        r#"version = 2
root = {root:?}
state = {state:?}
[grpc]
  address = {socket:?}
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = {PAUSE:?}
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = {plugins:?}
    conf_dir = {network:?}
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
"#,
        root = at("containerd/root"),
        state = at("containerd/state"),
        socket = at("containerd.sock"),
        plugins = super::super::CNI_PLUGINS,
        network = at("cni"),
    )
}

fn pod_network(directory: &Path) -> serde_json::Value {
    serde_json::json!({
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [
            {
                "type": "bridge", "bridge": "cni0",
                "isGateway": true, "ipMasq": false, "hairpinMode": true,
                "ipam": {
                    "type": "host-local",
                    "dataDir": directory.join("ipam"),
                    "ranges": [[{"subnet": "10.244.0.0/24"}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            },
            {"type": "portmap", "capabilities": {"portMappings": true}},
            {"type": "loopback"},
        ],
    })
}
