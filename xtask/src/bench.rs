//! Benchmarks: ratios against reference tools in one run, never timed tests.

use anyhow::{Context as _, bail};

use crate::{debian, step};

/// Something that can be measured.
struct Suite {
    /// What people type; the bench target has the same name.
    name: &'static str,
    /// Where the target is.
    package: &'static str,
    /// Programs that it measures, by their packages.
    programs: &'static [&'static str],
}

const SUITES: &[Suite] =
    &[Suite { name: "engine", package: "stoker-bench", programs: &["stoker-cli"] }];

/// Flags of `cargo xtask bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Which suite; all of them when left out
    suite: Option<String>,
    /// Flags of the suite, such as --quick, --strict, --json FILE, or a bar: P6
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    flags: Vec<String>,
}

/// Runs the suites.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    debian::install_missing()?;
    let wanted = |name: &str| arguments.suite.as_deref().is_none_or(|suite| suite == name);
    let suites: Vec<_> = SUITES.iter().filter(|suite| wanted(suite.name)).collect();
    if suites.is_empty() {
        let known: Vec<_> = SUITES.iter().map(|suite| suite.name).collect();
        bail!("no such suite; there are: {}", known.join(", "));
    }
    for suite in suites {
        suite.run(&arguments.flags).with_context(|| format!("suite {} failed", suite.name))?;
    }
    Ok(())
}

impl Suite {
    /// Builds what is measured as it ships, then measures.
    fn run(&self, flags: &[String]) -> anyhow::Result<()> {
        let mut build = step::cargo();
        build.args(["build", "--quiet", "--release"]);
        build.args(self.programs.iter().flat_map(|package| ["--package", package]));
        step::shown(&mut build)?;
        let mut bench = step::cargo();
        bench.args(["bench", "--quiet", "--package", self.package, "--bench", self.name, "--"]);
        step::shown(bench.args(flags))
    }
}
