//! The claims that need a real node, in suites.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::{cluster, debian, image, manifests, step};

/// The package whose test targets are the suites.
pub(crate) const PACKAGE: &str = "stoker-e2e";

/// Flags of `cargo xtask e2e`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A suite, such as `node`; or, without one, a part of the claims' names, such as `06`
    suite: Option<String>,
    /// Only claims whose number or name contains this
    filter: Option<String>,
}

/// Which claims to run.
#[derive(Debug, PartialEq, Eq)]
struct Selection {
    suites: Vec<String>,
    filter: Option<String>,
}

/// Runs them in a throwaway cluster.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let selection = select(suites()?, arguments)?;
    debian::install_missing()?;
    // The whole workspace, so that the package alone is not built with other features.
    step::quiet("build", step::cargo().args(["test", "--no-run", "--workspace"]))?;
    image::for_tests()?;
    cluster::prepare()?;
    manifests::for_tests()?;
    let _clusters = cluster::Hold::begin()?;
    let mut failed = Vec::new();
    for (suite, program) in programs(&selection.suites)? {
        let mut command = Command::new(program);
        command.current_dir(step::root().join("e2e")).arg("--quiet").args(&selection.filter);
        if step::shown(&mut command).is_err() {
            failed.push(suite);
        }
    }
    if !failed.is_empty() {
        bail!("a claim does not hold in: {}", failed.join(", "));
    }
    Ok(())
}

/// The programs of these suites. Targets of other packages may have the same names.
pub(crate) fn programs(suites: &[String]) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let mut command = step::cargo();
    command.args(["test", "--quiet", "--no-run", "--workspace", "--message-format=json"]);
    command.args(suites.iter().flat_map(|suite| ["--test", suite]));
    let messages = step::output(&mut command)?;
    let mut programs: Vec<_> = messages.lines().filter_map(program).collect();
    programs.sort();
    Ok(programs)
}

/// The suite that a message of cargo is about, and its program.
fn program(message: &str) -> Option<(String, PathBuf)> {
    let message: Value = serde_json::from_str(message).ok()?;
    let source = message["target"]["src_path"].as_str()?;
    let program = message["executable"].as_str()?;
    let name = message["target"]["name"].as_str()?;
    source.ends_with(&format!("e2e/{name}/suite.rs")).then(|| (name.to_owned(), program.into()))
}

/// Says whether a run of these packages, or of all if there are none, includes the suites.
pub(crate) fn is_among(packages: &[String]) -> bool {
    packages.is_empty() || packages.iter().any(|package| package == PACKAGE)
}

/// The names of the suites: each has a directory with this file in it.
pub(crate) fn suites() -> anyhow::Result<Vec<String>> {
    let directory = step::root().join("e2e");
    let entries = fs::read_dir(&directory).context("failed to list the suites")?;
    let mut suites: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.path().join("suite.rs").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    suites.sort();
    Ok(suites)
}

/// A first word that is not a suite is a filter: numbers and names of claims begin otherwise.
fn select(suites: Vec<String>, arguments: &Arguments) -> anyhow::Result<Selection> {
    match (&arguments.suite, &arguments.filter) {
        (None, filter) => Ok(Selection { suites, filter: filter.clone() }),
        (Some(suite), filter) if suites.contains(suite) => {
            Ok(Selection { suites: vec![suite.clone()], filter: filter.clone() })
        }
        (Some(word), None) => Ok(Selection { suites, filter: Some(word.clone()) }),
        (Some(word), Some(_)) => {
            bail!("there is no suite {word:?}; suites are: {}", suites.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(suite: &str, filter: Option<&str>) -> anyhow::Result<Selection> {
        let arguments =
            Arguments { suite: Some(suite.to_owned()), filter: filter.map(str::to_owned) };
        select(vec!["node".to_owned(), "restart".to_owned()], &arguments)
    }

    #[test]
    fn a_first_word_is_a_suite_or_a_filter() {
        let one = Selection { suites: vec!["restart".to_owned()], filter: Some("02".to_owned()) };
        assert_eq!(selected("restart", Some("02")).expect("a suite"), one);
        let all = vec!["node".to_owned(), "restart".to_owned()];
        let filter = Selection { suites: all, filter: Some("03".to_owned()) };
        assert_eq!(selected("03", None).expect("a filter"), filter);
    }

    #[test]
    fn a_target_of_another_package_is_no_suite() {
        let message = |source: &str| {
            let target = serde_json::json!({"name": "agent", "src_path": source});
            serde_json::json!({"target": target, "executable": "/deps/agent-0a1b"}).to_string()
        };
        let suite = Some(("agent".to_owned(), "/deps/agent-0a1b".into()));
        assert_eq!(program(&message("/checkout/e2e/agent/suite.rs")), suite);
        assert_eq!(program(&message("/checkout/crates/stoker-agent/tests/agent/main.rs")), None);
    }

    #[test]
    fn an_unknown_suite_with_a_filter_is_refused_by_name() {
        let error = selected("reset", Some("02")).expect_err("no such suite").to_string();
        assert_eq!(error, "there is no suite \"reset\"; suites are: node, restart");
    }
}
