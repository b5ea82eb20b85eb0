//! The programs that take part: ours by path, reference tools from PATH.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use stoker_testkit::process::find_program;

/// A program that was found.
#[derive(Debug, Clone)]
pub struct Program {
    path: PathBuf,
}

/// What a program said, and how long it took.
#[derive(Debug)]
pub struct Ran {
    /// What it printed.
    pub stdout: Vec<u8>,
    /// From start to end.
    pub took: Duration,
}

impl Program {
    /// Takes a program from PATH; `None` if it is not installed.
    pub fn find(name: &str) -> Option<Self> {
        find_program(OsStr::new(name)).ok().map(|path| Self { path })
    }

    /// Takes the program at a path.
    pub fn at(path: &Path) -> anyhow::Result<Self> {
        let path = path.canonicalize().with_context(|| format!("no program {}", path.display()))?;
        Ok(Self { path })
    }

    /// Takes one of our own, which cargo put beside this process or one directory up.
    pub fn built(name: &str) -> anyhow::Result<Self> {
        let me = std::env::current_exe().context("failed to find this program")?;
        let directories = me.ancestors().skip(1).take(2);
        let mut files = directories.map(|directory| directory.join(name));
        let hint = || format!("{name} is not built: run this suite by `cargo xtask bench`");
        let path = files.find(|file| file.is_file()).with_context(hint)?;
        Ok(Self { path })
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a command that sees nothing of the user's configuration.
    pub fn command(&self) -> Command {
        isolated(&self.path)
    }

    /// Returns the first line of what it says about itself.
    pub fn version(&self) -> String {
        let output = self.command().arg("--version").output();
        let text = output.map(|output| output.stdout).unwrap_or_default();
        String::from_utf8_lossy(&text).lines().next().unwrap_or_default().trim().to_owned()
    }
}

/// Returns a command with PATH and TMPDIR, and nothing else that could change what it does.
pub fn isolated(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    for name in ["PATH", "TMPDIR", "LD_LIBRARY_PATH"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("GIT_TERMINAL_PROMPT", "0").env("HOME", "/nonexistent").env("LC_ALL", "C");
    command
}

/// Runs a command to its end; a failure is an error that quotes it.
pub fn run(command: &mut Command) -> anyhow::Result<Ran> {
    let started = Instant::now();
    let output = command.stdin(Stdio::null()).output();
    let took = started.elapsed();
    let output = output.with_context(|| format!("failed to start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", complaint(&output));
    }
    Ok(Ran { stdout: output.stdout, took })
}

/// Runs commands one after the other and returns how long they took together.
pub fn run_all<const N: usize>(commands: [&mut Command; N]) -> anyhow::Result<Duration> {
    let mut took = Duration::ZERO;
    for command in commands {
        took += run(command)?.took;
    }
    Ok(took)
}

/// What a program that failed had to say.
pub fn complaint(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    format!("{}: {} {}", output.status, text(&output.stderr), text(&output.stdout))
}
