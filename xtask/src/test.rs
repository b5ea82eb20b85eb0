//! All tests, with what they need brought along, and a summary that counts.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};

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
    let skipped = SkipList::new();
    step::quiet("build", cargo_test(arguments, &skipped)?.arg("--no-run"))?;
    cluster::prepare()?;
    if e2e::is_among(&arguments.package) {
        image::for_tests()?;
        manifests::for_tests()?;
    }
    let _clusters = arguments.package.is_empty().then(cluster::Hold::begin).transpose()?;
    let (mut tally, mut succeeded) = if arguments.package.is_empty() {
        in_two_lanes(arguments, &skipped)?
    } else {
        let mut command = cargo_test(arguments, &skipped)?;
        watch(command.args(&arguments.filter), String::new())?
    };
    if !succeeded && (1..=MOST_AGAIN).contains(&tally.failed) {
        (tally, succeeded) = again(arguments, &tally, &skipped)?;
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

/// Runs everything, the claims on the node beside all other tests: claims mostly wait, and they
/// have a cluster of their own.
fn in_two_lanes(arguments: &Arguments, skipped: &SkipList) -> anyhow::Result<(Tally, bool)> {
    let suites = e2e::programs(&e2e::suites()?)?;
    let mut others = cargo_test(arguments, skipped)?;
    others.args(["--exclude", e2e::PACKAGE]).args(&arguments.filter);
    thread::scope(|scope| {
        let claims = scope.spawn(|| {
            let mut all = (Tally::default(), true);
            for (suite, program) in suites {
                let mut command = Command::new(program);
                set_environment(&mut command, arguments, skipped)?;
                command.current_dir(step::root().join("e2e")).args(&arguments.filter);
                all = add(all, watch(&mut command, format!("{suite} {suite}/suite.rs"))?);
            }
            anyhow::Ok(all)
        });
        let others = watch(&mut others, String::new())?;
        let claims = claims.join().map_err(|_| anyhow!("the thread of the claims panicked"))??;
        Ok(add(others, claims))
    })
}

fn add(first: (Tally, bool), second: (Tally, bool)) -> (Tally, bool) {
    let failures = [first.0.failures, second.0.failures].concat();
    let (passed, failed) = (first.0.passed + second.0.passed, first.0.failed + second.0.failed);
    (Tally { passed, failed, failures }, first.1 && second.1)
}

fn set_environment(
    command: &mut Command,
    arguments: &Arguments,
    skipped: &SkipList,
) -> anyhow::Result<()> {
    command.env("STOKER_SKIPPED", &skipped.path);
    if arguments.long {
        // Cargo builds the tests anew when it changes: they are compiled for one program.
        command.env("STOKER_LONG", "1").env("STOKER_BIN", release_program()?);
        command.env("PROPTEST_CASES", "4000");
    } else {
        // A gate asks the same questions each time, or luck refuses a change that is not at fault.
        // New questions are for `--long` and for plain `cargo test`, which draw a seed.
        command.env("PROPTEST_RNG_SEED", "20261116");
    }
    Ok(())
}

fn cargo_test(arguments: &Arguments, skipped: &SkipList) -> anyhow::Result<Command> {
    let mut command = step::cargo();
    set_environment(&mut command, arguments, skipped)?;
    command.args(["test", "--no-fail-fast", "--color=never"]);
    if arguments.package.is_empty() {
        command.arg("--workspace");
    }
    command.args(arguments.package.iter().flat_map(|package| ["--package", package]));
    Ok(command)
}

/// Runs the failed tests once more, alone: a time limit that a busy machine missed is no fault of
/// the change. Says which they were, because a test that fails now and then wants to be looked at.
fn again(
    arguments: &Arguments,
    first: &Tally,
    skipped: &SkipList,
) -> anyhow::Result<(Tally, bool)> {
    println!("failed tests, once more and alone:");
    let mut command = cargo_test(arguments, skipped)?;
    command.args(["--", "--exact"]).args(&first.failures);
    let (second, succeeded) = watch(&mut command, String::new())?;
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

/// Shows a line per test binary, and everything that a failing one said. Cargo names the binaries;
/// one that is run without cargo has its name from here.
fn watch(command: &mut Command, mut binary: String) -> anyhow::Result<(Tally, bool)> {
    let (reader, writer) = std::io::pipe().context("failed to make a pipe")?;
    command.stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn().context("failed to start the tests")?;
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let (mut tally, mut said) = (Tally::default(), Vec::new());
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

/// Prints at once, because two lanes print.
fn conclude(binary: &str, passed: usize, failed: usize, took: Duration, said: &[String]) {
    let is_shown = |line: &&String| failed > 0 || line.starts_with("skipped: ");
    let mut lines: Vec<String> = said.iter().filter(is_shown).cloned().collect();
    if passed + failed > 0 {
        let seconds = took.as_secs_f64();
        lines.push(format!("{binary:<44} {passed:>4} passed {failed:>3} failed {seconds:>7.1} s"));
    }
    if !lines.is_empty() {
        println!("{}", lines.join("\n"));
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
