//! libFuzzer, for a minute per target, where it is installed.
//!
//! The targets themselves are `stoker-fuzz`'s, and its tests drive them without libFuzzer.

use std::fs;
use std::process::{Command, Stdio};

use anyhow::Context as _;

use crate::step;

const PACKAGE: &str = "stoker-fuzz";
const SECONDS: u32 = 60;

/// Says whether the package is among these; an empty list means all.
pub(crate) fn is_among(packages: &[String]) -> bool {
    packages.is_empty() || packages.iter().any(|package| package == PACKAGE)
}

/// Fuzzes every target, or says what is missing.
pub(crate) fn run() -> anyhow::Result<()> {
    let version = fuzz().arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !version.is_ok_and(|status| status.success()) {
        println!("skipped: libFuzzer needs `cargo install cargo-fuzz` and a nightly compiler");
        return Ok(());
    }
    let programs = step::root().join("fuzz/fuzz_targets");
    let programs = fs::read_dir(programs).context("failed to list the fuzz targets")?;
    for program in programs {
        let path = program?.path();
        let name = path.file_stem().context("a program has a name")?;
        let limit = format!("-max_total_time={SECONDS}");
        let mut command = fuzz();
        command.arg("run").arg(name).args(["--", &limit, "-rss_limit_mb=512"]);
        step::quiet(&format!("fuzz {}", name.display()), &mut command)?;
    }
    Ok(())
}

fn fuzz() -> Command {
    // Not the cargo that runs us: rustup's chooses the compiler.
    let mut command = Command::new("cargo");
    command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN").current_dir(step::root());
    command.args(["+nightly", "fuzz"]);
    command
}
