//! The claims that need a real node.

use anyhow::Context as _;

use crate::{cluster, debian, step};

/// Flags of `cargo xtask e2e`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only claims whose number or name contains this, such as `06`
    claim: Option<String>,
}

/// Runs them in a throwaway cluster.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    debian::install_missing()?;
    // The whole workspace, so that the package alone is not built with other features.
    step::quiet("build", step::cargo().args(["test", "--no-run", "--workspace"]))?;
    cluster::prepare()?;
    let mut command = step::cargo();
    command.args(["test", "--quiet", "--workspace", "--test", "node"]).args(&arguments.claim);
    step::shown(&mut command).context("a claim does not hold")
}
