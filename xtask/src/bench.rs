//! Benchmarks: ratios against reference tools in one run, never timed tests.

use anyhow::{Context as _, bail};

use crate::{debian, image, step};

/// Something that can be measured.
struct Suite {
    /// What people type; the bench target has the same name.
    name: &'static str,
    /// What it measures.
    subject: Subject,
}

/// What has to be built before a suite can measure it.
enum Subject {
    /// Programs as cargo's release profile builds them.
    Programs(&'static [&'static str]),
    /// The images on a node, and the CLI beside them: as they ship, or quick to build for a first
    /// look.
    Images,
}

/// What a suite about the operator starts.
const OPERATOR: &[&str] = &["stoker-operator", "stoker-cluster", "git-servers"];
/// What a suite on a node starts beside it.
const ON_A_NODE: &[&str] = &["stoker-cluster", "stoker"];

const SUITES: &[Suite] = &[
    Suite { name: "engine", subject: Subject::Programs(&["stoker"]) },
    Suite { name: "receiver", subject: Subject::Programs(OPERATOR) },
    Suite { name: "admission", subject: Subject::Programs(OPERATOR) },
    Suite { name: "fleet", subject: Subject::Programs(OPERATOR) },
    Suite { name: "bootstrap", subject: Subject::Programs(OPERATOR) },
    Suite { name: "people", subject: Subject::Programs(&["stoker", "stoker-cluster"]) },
    Suite { name: "cluster", subject: Subject::Images },
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
        let is_quick = flags.iter().any(|flag| flag == "--quick");
        let (profile, programs) = match self.subject {
            Subject::Programs(programs) => ("release", programs),
            Subject::Images if is_quick => ("dev", ON_A_NODE),
            Subject::Images => ("release", ON_A_NODE),
        };
        // One selection of packages for both: cargo builds dependencies again for another one.
        let mut build = step::cargo();
        build.args(["build", "--quiet", "--profile", profile, "--workspace"]);
        step::shown(build.args(programs.iter().flat_map(|program| ["--bin", program])))?;
        match self.subject {
            Subject::Programs(_) => {}
            Subject::Images if is_quick => image::for_tests()?,
            Subject::Images => drop(bench.env("STOKER_IMAGES", image::for_release()?)),
        }
        bench.args(["bench", "--quiet", "--profile", profile, "--workspace"]);
        step::shown(bench.args(["--bench", self.name, "--"]).args(flags))
    }
}
