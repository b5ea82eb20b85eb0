//! The chart as plain manifests, for people who install without Helm.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::Context as _;

use crate::{cluster, step};

/// The namespace of the operator.
const NAMESPACE: &str = "stoker-system";
/// A version that the chart accepts: Helm asks no cluster here.
const KUBERNETES: &str = "1.34.0";

/// The first lines of `install.yaml`.
const HEADER: &str = "\
# Stoker with the default values of its chart. Install and upgrade:
#   kubectl apply --server-side --force-conflicts --filename install.yaml
# Do not delete what is in this file: the definitions are in it, and every GatewaySync would go with
# them. docs/install.md says how to remove an installation.
";

const KUSTOMIZATION: &str = "\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [install.yaml]
# Another registry: name it here for the operator, and in DEFAULT_AGENT_IMAGE for the agent.
images:
  - name: ghcr.io/stoker-io/stoker-operator
    newName: ghcr.io/stoker-io/stoker-operator
";

/// Flags of `cargo xtask manifests`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Directory for the files; target/manifests when left out
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Writes them and says where they are.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    cluster::build()?;
    let directory = arguments.output.clone().unwrap_or_else(directory);
    for path in write(&directory)? {
        println!("{}", path.display());
    }
    Ok(())
}

/// Writes the manifests that tests apply.
pub(crate) fn for_tests() -> anyhow::Result<()> {
    let started = Instant::now();
    write(&directory())?;
    step::done("manifests", started);
    Ok(())
}

/// Writes `install.yaml`, `release.yaml`, which removes finalizers before an installation without
/// Helm is removed, and a kustomization. The program `stoker-cluster` must be built: it
/// knows where Helm is.
pub(crate) fn write(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let install = rendered(&["--include-crds", "--no-hooks"])?;
    let install = format!("{HEADER}{}{install}", namespace());
    let release = rendered(&["--show-only", "templates/release-hook.yaml"])?;
    fs::create_dir_all(directory)
        .with_context(|| format!("failed to create {}", directory.display()))?;
    let files = [
        ("install.yaml", install.as_str()),
        ("release.yaml", &release),
        ("kustomization.yaml", KUSTOMIZATION),
    ];
    let save = |(name, text): (&str, &str)| {
        let path = directory.join(name);
        fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))?;
        Ok(path)
    };
    files.into_iter().map(save).collect()
}

fn directory() -> PathBuf {
    step::target().join("manifests")
}

fn namespace() -> String {
    format!("---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: {NAMESPACE}\n")
}

/// What Helm would install, as these flags select.
fn rendered(flags: &[&str]) -> anyhow::Result<String> {
    let mut helm = Command::new(cluster::helm()?);
    helm.args(["template", "stoker-operator"]).arg(step::root().join("charts/stoker-operator"));
    helm.args(["--namespace", NAMESPACE, "--kube-version", KUBERNETES]).args(flags);
    step::output(&mut helm)
}
