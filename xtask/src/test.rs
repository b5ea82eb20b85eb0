//! All tests, with what they need brought along, and a summary that counts.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use crate::{cluster, debian, e2e, fuzz, image, manifests, step};

const OPERATOR: &str = "stoker-operator";
/// The most failed tests that are run once more. More of them are not bad luck.
const MOST_AGAIN: usize = 3;

/// Flags of `cargo xtask test`.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Arguments {
    /// Run the full matrices instead of a sample, and many more cases of each property
    #[arg(long)]
    long: bool,
    /// Only tests of this package (repeatable)
    #[arg(long, short)]
    package: Vec<String>,
    /// Only tests whose name contains this
    filter: Option<String>,
}

/// What a run came to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: usize,
    failed: usize,
    /// The names of the failed tests.
    failures: Vec<String>,
}

/// Runs the tests.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    debian::install_missing()?;
    if arguments.long {
        let release = ["build", "--release", "--package", "stoker-cli", "--bin", "stoker"];
        step::quiet("release", step::cargo().args(release))?;
    }
    step::quiet("build", cargo_test(arguments)?.arg("--no-run"))?;
    cluster::prepare()?;
    if e2e::is_among(&arguments.package) {
        image::for_tests()?;
        manifests::for_tests()?;
    }
    let _clusters = arguments.package.is_empty().then(cluster::Hold::begin).transpose()?;
    let skipped = SkipList::new();
    let mut command = cargo_test(arguments)?;
    command.env("STOKER_SKIPPED", &skipped.path);
    command.args(arguments.filter.as_slice());
    let (mut tally, mut succeeded) = watch(&mut command)?;
    if !succeeded && (1..=MOST_AGAIN).contains(&tally.failed) {
        (tally, succeeded) = again(arguments, tally, &skipped)?;
    }
    let skipped = skipped.count();
    let Tally { passed, failed, .. } = tally;
    // A skipped test returns early, so the harness counted it as passed.
    println!("{} passed, {failed} failed, {skipped} skipped", passed.saturating_sub(skipped));
    if !succeeded {
        bail!("tests failed");
    }
    if arguments.long && arguments.filter.is_none() {
        if arguments.package.is_empty() || arguments.package.iter().any(|it| it == OPERATOR) {
            panic_in_the_shipped_program()?;
        }
        if fuzz::is_among(&arguments.package) {
            fuzz::run()?;
        }
    }
    if arguments.long && arguments.filter.is_none() && arguments.package.is_empty() {
        with_kubernetes("1.36", &["e2e"])?;
        let packages = ["stoker-operator", "stoker-cli", "stoker-api"];
        let packages: Vec<&str> = packages.iter().flat_map(|name| ["--package", name]).collect();
        with_kubernetes("1.30", &[&["test"], packages.as_slice()].concat())?;
    }
    Ok(())
}

/// A panic in the operator as it ships ends one request and no more.
fn panic_in_the_shipped_program() -> anyhow::Result<()> {
    let build = ["build", "--quiet", "--profile", "dist-unwind", "--bin", OPERATOR];
    let panic = ["--package", OPERATOR, "--features", "panic"];
    step::quiet("dist", step::cargo().args(build).args(panic))?;
    let program = step::target().join("dist-unwind").join(OPERATOR);
    let program = std::path::absolute(program).context("failed to find the target directory")?;
    let mut test = step::cargo();
    test.args(["test", "--quiet", "--test", "webhook"]).args(panic).arg("a_panic_ends");
    step::quiet("panic", test.env("STOKER_OPERATOR", program))
}

/// Runs a command of ours again, with another version of Kubernetes.
fn with_kubernetes(minor: &str, words: &[&str]) -> anyhow::Result<()> {
    println!("Kubernetes {minor}:");
    let own = std::env::current_exe().context("failed to find this program")?;
    let mut command = Command::new(own);
    command.env("STOKER_KUBERNETES", minor).env("STOKER_CLUSTER", format!("kubernetes-{minor}"));
    step::shown(command.args(words))
}

fn cargo_test(arguments: &Arguments) -> anyhow::Result<Command> {
    let mut command = step::cargo();
    if arguments.long {
        // Cargo builds the tests anew when it changes: they are compiled for one program.
        command.env("STOKER_LONG", "1").env("STOKER_BIN", release_program()?);
        command.env("PROPTEST_CASES", "4000");
    } else {
        // A gate asks the same questions each time, or luck refuses a change that is not at fault.
        // New questions are for `--long` and for plain `cargo test`, which draw a seed.
        command.env("PROPTEST_RNG_SEED", "20261116");
    }
    command.args(["test", "--no-fail-fast", "--color=never"]);
    if arguments.package.is_empty() {
        command.arg("--workspace");
    }
    command.args(arguments.package.iter().flat_map(|package| ["--package", package]));
    Ok(command)
}

/// Runs the failed tests once more, alone: a time limit that a busy machine missed is no fault of
/// the change. Says which they were, because a test that fails now and then wants to be looked at.
fn again(arguments: &Arguments, first: Tally, skipped: &SkipList) -> anyhow::Result<(Tally, bool)> {
    println!("failed tests, once more and alone:");
    let mut command = cargo_test(arguments)?;
    command.env("STOKER_SKIPPED", &skipped.path);
    command.args(["--", "--exact"]).args(&first.failures);
    let (second, succeeded) = watch(&mut command)?;
    let is_whole = second.passed + second.failed >= first.failed;
    for name in first.failures.iter().filter(|name| !second.failures.contains(name)) {
        println!("flaky: {name} failed at first and passed alone");
    }
    let tally = Tally { passed: first.passed + second.passed, ..second };
    Ok((tally, succeeded && is_whole))
}

/// The program as it is released, which the full matrices are about.
fn release_program() -> anyhow::Result<PathBuf> {
    let program = step::target().join("release/stoker");
    program.canonicalize().with_context(|| format!("{} is not there", program.display()))
}

/// Shows a line per test binary, and everything that a failing one said.
fn watch(command: &mut Command) -> anyhow::Result<(Tally, bool)> {
    let (reader, writer) = std::io::pipe().context("failed to make a pipe")?;
    command.stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn().context("failed to start cargo test")?;
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let (mut tally, mut binary, mut said) = (Tally::default(), String::new(), Vec::new());
    let mut begun = Instant::now();
    for line in BufReader::new(reader).lines() {
        let line = line?;
        if let Some(name) = running(&line) {
            binary = name;
            begun = Instant::now();
            said.clear();
        } else if let Some((passed, failed)) = result(&line) {
            tally.passed += passed;
            tally.failed += failed;
            conclude(&binary, passed, failed, begun.elapsed(), &said);
            said.clear();
        } else {
            tally.failures.extend(failure(&line).map(str::to_owned));
            said.push(line);
        }
    }
    let succeeded = child.wait()?.success();
    if !succeeded && tally.failed == 0 {
        eprintln!("{}", said.join("\n"));
    }
    Ok((tally, succeeded))
}

fn conclude(binary: &str, passed: usize, failed: usize, took: Duration, said: &[String]) {
    if failed > 0 {
        println!("{}", said.join("\n"));
    } else {
        for line in said.iter().filter(|line| line.starts_with("skipped: ")) {
            println!("{line}");
        }
    }
    if passed + failed > 0 {
        let seconds = took.as_secs_f64();
        println!("{binary:<44} {passed:>4} passed {failed:>3} failed {seconds:>7.1} s");
    }
}

/// `     Running tests/x.rs (target/debug/deps/x-0123)` → `x tests/x.rs`.
fn running(line: &str) -> Option<String> {
    if let Some(name) = line.trim_start().strip_prefix("Doc-tests ") {
        return Some(format!("{name} (docs)"));
    }
    let (source, binary) = line.trim_start().strip_prefix("Running ")?.split_once(" (")?;
    let file = binary.rsplit('/').next()?.trim_end_matches(')');
    let name = file.rsplit_once('-').map_or(file, |(name, _)| name);
    Some(format!("{name} {}", source.trim_start_matches("unittests ")))
}

/// `test x::y ... FAILED` → `x::y`.
fn failure(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

/// `test result: ok. 3 passed; 0 failed; …` → `(3, 0)`.
fn result(line: &str) -> Option<(usize, usize)> {
    let mut words = line.strip_prefix("test result: ")?.split_whitespace();
    let mut before = |unit: &str| {
        let mut previous = None;
        for word in words.by_ref() {
            if word.trim_end_matches(';') == unit {
                return previous;
            }
            previous = word.parse().ok();
        }
        None
    };
    Some((before("passed")?, before("failed")?))
}

/// The file that skipped tests write their names to.
struct SkipList {
    path: PathBuf,
}

impl SkipList {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("stoker-skipped-{}", std::process::id()));
        fs::remove_file(&path).ok();
        Self { path }
    }

    fn count(&self) -> usize {
        fs::read_to_string(&self.path).map_or(0, |text| text.lines().count())
    }
}

impl Drop for SkipList {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_line_is_counted() {
        let line =
            "test result: FAILED. 12 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(result(line), Some((12, 3)));
        assert_eq!(result("test nothing ... ok"), None);
    }

    #[test]
    fn a_failed_test_is_named() {
        assert_eq!(failure("test x::y ... FAILED"), Some("x::y"));
        assert_eq!(failure("test x::y ... ok"), None);
        assert_eq!(failure("test result: FAILED. 0 passed; 1 failed"), None);
    }

    #[test]
    fn a_binary_is_named_by_package_and_source() {
        let line = "     Running tests/node.rs (target/debug/deps/node-0a1b2c)";
        assert_eq!(running(line).as_deref(), Some("node tests/node.rs"));
        let line = "     Running unittests src/lib.rs (target/debug/deps/stoker_api-0a1b)";
        assert_eq!(running(line).as_deref(), Some("stoker_api src/lib.rs"));
    }
}
