//! The `git` program with nothing of the user's or the machine's configuration in it.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use super::Error;
use crate::process::{self, Guarded};

/// Returns a guarded `git` command that works in `directory` and knows no configuration but the
/// repository's.
///
/// Give it to [`Guarded::spawn`]. Variables such as `GIT_DIR`, which a hook that runs the tests
/// would hand down, are gone; there is no prompt; messages are in English.
pub fn command(directory: &Path) -> Result<Command, Error> {
    let mut git =
        process::command("git").map_err(|source| Error::Start { program: "git", source })?;
    isolate(&mut git);
    git.arg("-C").arg(directory);
    Ok(git)
}

/// Runs git in `directory` and returns what it printed; a failure is an error that quotes it.
pub fn run<Argument: AsRef<OsStr>>(
    directory: &Path,
    arguments: impl IntoIterator<Item = Argument>,
) -> Result<Vec<u8>, Error> {
    let mut git = command(directory)?;
    git.args(arguments);
    finish(git, &[])
}

/// Runs a prepared git command with the given standard input.
pub(super) fn finish(mut git: Command, input: &[u8]) -> Result<Vec<u8>, Error> {
    pipe(&mut git);
    let program = describe(&git);
    let mut child =
        Guarded::spawn(git).map_err(|source| Error::Start { program: "git", source })?;
    if let Some(mut stdin) = child.take_stdin() {
        // Git that fails early stops reading; its exit status says more than our broken pipe.
        stdin.write_all(input).ok();
    }
    let output = child.output().map_err(|source| Error::Talk { program: "git", source })?;
    check(&program, output)
}

/// Runs another program and returns what it printed.
pub(super) fn program(name: &'static str, arguments: &[&str]) -> Result<String, Error> {
    let start = |source| Error::Start { program: name, source };
    let mut command = process::command(name).map_err(start)?;
    pipe(command.args(arguments));
    let output = Guarded::spawn(command).map_err(start)?.output();
    let output = output.map_err(|source| Error::Talk { program: name, source })?;
    Ok(String::from_utf8_lossy(&check(name, output)?).into_owned())
}

/// Makes a directory that is gone with the value.
pub(super) fn directory(prefix: &str) -> Result<TempDir, Error> {
    TempDir::with_prefix(prefix).map_err(Error::file(std::env::temp_dir()))
}

/// Connects all three streams of a program to us.
fn pipe(command: &mut Command) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
}

/// Returns what a program printed, or an error that quotes its complaints.
pub(super) fn check(program: &str, output: Output) -> Result<Vec<u8>, Error> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::Failed { program: program.to_owned(), status: output.status, stderr })
}

/// Removes what a caller's environment could change about git.
pub(super) fn isolate(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT_") {
            command.env_remove(name);
        }
    }
    command.envs([
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_ASKPASS", "/bin/false"),
        ("HOME", "/nonexistent"),
        ("LC_ALL", "C"),
    ]);
}

/// The arguments behind the fence: `git -C dir fetch …`.
fn describe(git: &Command) -> String {
    let arguments: Vec<_> = git.get_args().map(OsStr::to_string_lossy).collect();
    let program = arguments.iter().position(|argument| argument.ends_with("/git")).unwrap_or(0);
    arguments[program..].join(" ")
}
