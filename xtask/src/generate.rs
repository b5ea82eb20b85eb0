//! Files that are derived from code: written, or compared with what is committed.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, bail};
use stoker_api::generated;

use crate::{chart, promises, step};

/// The first line of a generated page.
const HEADER: &str = "<!-- Generated, do not edit: cargo xtask generate -->\n\n";

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
        files()?.into_iter().filter(|(path, text)| !is_current(path, text)).collect();
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
fn files() -> anyhow::Result<Vec<(PathBuf, String)>> {
    let below = |directory: &'static str| {
        move |(name, text): (&str, String)| (PathBuf::from(directory).join(name), text)
    };
    let crds = generated::crd_yaml().into_iter().map(below("charts/stoker-operator/crds"));
    let pages = generated::reference_pages().into_iter().map(below("docs/reference"));
    let (name, text) = generated::status_policy();
    let policy = (PathBuf::from("charts/stoker-operator/files").join(name), text);
    let flags = (PathBuf::from("docs/reference/cli.md"), flags()?);
    let page = promises::page()?;
    let promises = (PathBuf::from("docs/development/promises.md"), format!("{HEADER}{page}"));
    let readme = chart::readme()?;
    let readme = (PathBuf::from("charts/stoker-operator/README.md"), format!("{HEADER}{readme}"));
    Ok(crds.chain(pages).chain([policy, flags, promises, readme]).collect())
}

/// Every flag of the command line, as the program itself tells it.
///
/// A program of its own, because a dependency on it would bring all of its dependencies here.
fn flags() -> anyhow::Result<String> {
    let mut command = step::cargo();
    command.args(["run", "--quiet", "--package", "stoker-cli", "--", "reference"]);
    Ok(format!("{HEADER}{}", step::output(&mut command)?))
}

fn is_current(path: &PathBuf, text: &str) -> bool {
    fs::read_to_string(step::root().join(path)).is_ok_and(|current| current == text)
}
