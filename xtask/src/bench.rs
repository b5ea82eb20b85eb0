//! Benchmarks: ratios against reference tools in one run, never timed tests.

use anyhow::{Context as _, bail};

use crate::{debian, step};

/// What can be measured: the name people type, the package, and its bench target.
const SUITES: &[(&str, &str, &str)] = &[("testkit", "stoker-testkit", "testkit")];

/// Flags of `cargo xtask bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Which suite; all of them when left out
    suite: Option<String>,
}

/// Runs the suites.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    debian::install_missing()?;
    let wanted = |name: &str| arguments.suite.as_deref().is_none_or(|suite| suite == name);
    let suites: Vec<_> = SUITES.iter().filter(|(name, ..)| wanted(name)).collect();
    if suites.is_empty() {
        let known: Vec<_> = SUITES.iter().map(|(name, ..)| *name).collect();
        bail!("no such suite; there are: {}", known.join(", "));
    }
    for (name, package, bench) in suites {
        let mut command = step::cargo();
        command.args(["bench", "--quiet", "--package", package, "--bench", bench]);
        step::shown(&mut command).with_context(|| format!("suite {name} failed"))?;
    }
    Ok(())
}
