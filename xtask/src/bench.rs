//! Benchmarks: ratios against reference tools in one run, never timed tests.

use anyhow::{Context as _, bail};

use crate::{debian, image, step};

/// Something that can be measured.
struct Suite {
    /// What people type; the bench target has the same name.
    name: &'static str,
    /// Where the target is.
    package: &'static str,
    /// What it measures.
    subject: Subject,
}

/// What has to be built before a suite can measure it.
enum Subject {
    /// Programs as cargo's release profile builds them, by their packages.
    Programs(&'static [&'static str]),
    /// The images on a node, and the CLI beside them: as they ship, or quick to build for a first
    /// look.
    Images,
}

const SUITES: &[Suite] = &[
    Suite { name: "engine", package: "stoker-bench", subject: Subject::Programs(&["stoker-cli"]) },
    Suite {
        name: "receiver",
        package: "stoker-bench",
        subject: Subject::Programs(&["stoker-operator", "stoker-testkit"]),
    },
    Suite {
        name: "admission",
        package: "stoker-bench",
        subject: Subject::Programs(&["stoker-operator", "stoker-testkit"]),
    },
    Suite {
        name: "fleet",
        package: "stoker-bench",
        subject: Subject::Programs(&["stoker-operator", "stoker-testkit"]),
    },
    Suite {
        name: "bootstrap",
        package: "stoker-bench",
        subject: Subject::Programs(&["stoker-operator", "stoker-testkit"]),
    },
    Suite {
        name: "people",
        package: "stoker-bench",
        subject: Subject::Programs(&["stoker-cli", "stoker-testkit"]),
    },
    Suite { name: "cluster", package: "stoker-bench", subject: Subject::Images },
];

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
        let mut bench = step::cargo();
        match self.subject {
            Subject::Programs(packages) => {
                let mut build = step::cargo();
                build.args(["build", "--quiet", "--release"]);
                build.args(packages.iter().flat_map(|package| ["--package", package]));
                step::shown(&mut build)?;
            }
            Subject::Images => {
                let is_quick = flags.iter().any(|flag| flag == "--quick");
                let profile = if is_quick { "dev" } else { "release" };
                let build = ["build", "--quiet", "--profile", profile, "--workspace"];
                let programs = ["--bin", "stoker-cluster", "--bin", "stoker"];
                step::shown(step::cargo().args(build).args(programs))?;
                if is_quick {
                    image::for_tests()?;
                } else {
                    bench.env("STOKER_IMAGES", image::for_release()?);
                }
                return step::shown(bench.args(self.bench(profile)).args(flags));
            }
        }
        step::shown(bench.args(self.bench("bench")).args(flags))
    }

    /// Cargo's arguments for the bench target in a profile.
    fn bench<'a>(&self, profile: &'a str) -> [&'a str; 9] {
        let Self { name, package, .. } = *self;
        ["bench", "--quiet", "--profile", profile, "--package", package, "--bench", name, "--"]
    }
}
