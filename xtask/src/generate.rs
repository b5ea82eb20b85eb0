//! Files that are derived from code: written, or compared with what is committed.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, bail};
use stoker_api::generated;

use crate::step;

/// Flags of `cargo xtask generate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Write nothing; fail when a committed file is stale
    #[arg(long)]
    pub(crate) check: bool,
}

/// Writes or checks them.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let started = Instant::now();
    let stale: Vec<_> =
        files().into_iter().filter(|(path, text)| !is_current(path, text)).collect();
    if arguments.check {
        if !stale.is_empty() {
            let names: Vec<_> = stale.iter().map(|(path, _)| path.display().to_string()).collect();
            bail!("stale: {}; run `cargo xtask generate`", names.join(", "));
        }
        step::done("generate", started);
        return Ok(());
    }
    for (path, text) in stale {
        let target = step::root().join(&path);
        fs::create_dir_all(target.parent().context("a file has a directory")?)?;
        fs::write(&target, text).with_context(|| format!("failed to write {}", path.display()))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

/// Every generated file, by its path in the repository.
fn files() -> Vec<(PathBuf, String)> {
    let below = |directory: &'static str| {
        move |(name, text): (&str, String)| (PathBuf::from(directory).join(name), text)
    };
    let crds = generated::crd_yaml().into_iter().map(below("charts/stoker-operator/crds"));
    let pages = generated::reference_pages().into_iter().map(below("docs/reference"));
    crds.chain(pages).collect()
}

fn is_current(path: &PathBuf, text: &str) -> bool {
    fs::read_to_string(step::root().join(path)).is_ok_and(|current| current == text)
}
