//! Running other programs: quiet while they succeed, loud when they do not.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail};

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    root().join(target)
}

/// `cargo`, the one that runs us, in the root of the repository.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs a command to its end, its output where ours goes.
pub(crate) fn shown(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("failed to start {command:?}"))?;
    if !status.success() {
        bail!("{} failed", words(command));
    }
    Ok(())
}

/// Runs a command and prints one line when it succeeds, everything that it said when it does not.
pub(crate) fn quiet(name: &str, command: &mut Command) -> anyhow::Result<()> {
    let started = Instant::now();
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("failed to start {command:?}"))?;
    if !output.status.success() {
        eprint!("{}", String::from_utf8_lossy(&output.stdout));
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        bail!("{name}: {} failed", words(command));
    }
    done(name, started);
    Ok(())
}

/// Runs a command and returns what it printed; what it complains of goes where ours goes.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("failed to start {command:?}"))?;
    if !output.status.success() {
        bail!("{} failed", words(command));
    }
    String::from_utf8(output.stdout).context("the output is not text")
}

/// One line for a step that went well.
pub(crate) fn done(name: &str, started: Instant) {
    eprintln!("{name:<12} ok  {:>5.1} s", started.elapsed().as_secs_f32());
}

fn words(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(std::ffi::OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}
