//! Counts what a program does, by `strace`: bytes below a directory, processes started.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use crate::place::{self, Place};
use crate::program::{self, Program};

const WRITES: &str = "write,pwrite64,writev,pwritev,pwritev2,sendfile,copy_file_range,splice";
const FORKS: &str = "clone,clone3,fork,vfork";

/// The system calls of a program and all that it started, a file per thread.
#[derive(Debug)]
pub struct Trace {
    lines: Vec<String>,
    /// What the program printed.
    pub stdout: Vec<u8>,
}

impl Trace {
    /// Runs a command and notes every write.
    pub fn writes(command: &Command, place: &Place) -> anyhow::Result<Self> {
        Self::record(command, WRITES, &place.join("trace"))
    }

    /// Runs a command and notes every new process.
    pub fn forks(command: &Command, place: &Place) -> anyhow::Result<Self> {
        Self::record(command, FORKS, &place.join("trace"))
    }

    fn record(command: &Command, calls: &str, directory: &Path) -> anyhow::Result<Self> {
        let strace = Program::find("strace").context("strace is not installed")?;
        place::clear(directory)?;
        fs::create_dir(directory).context("failed to make a directory for traces")?;
        let mut traced = strace.command();
        // One file per thread: no call is torn in two by another one's line.
        traced.args(["-ff", "-qq", "-y", "-s", "0", "--seccomp-bpf", "-e"]);
        traced.arg(format!("trace={calls}")).arg("-o").arg(directory.join("thread"));
        traced.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => traced.env(name, value),
                None => traced.env_remove(name),
            };
        }
        let stdout = program::run(&mut traced)?.stdout;
        let lines = read(directory)?;
        place::clear(directory)?;
        Ok(Self { lines, stdout })
    }

    /// Returns how many bytes were written to files below a directory.
    pub fn bytes_below(&self, directory: &Path) -> u64 {
        self.lines.iter().filter_map(|line| written(line, directory)).sum()
    }

    /// Returns how many processes were started, threads not counted.
    pub fn processes(&self) -> usize {
        self.lines.iter().filter(|line| is_fork(line)).count()
    }
}

fn read(directory: &Path) -> anyhow::Result<Vec<String>> {
    let mut lines = Vec::new();
    for file in fs::read_dir(directory).context("failed to list traces")? {
        let path: PathBuf = file.context("failed to list traces")?.path();
        let bytes = fs::read(&path).context("failed to read a trace")?;
        lines.extend(String::from_utf8_lossy(&bytes).lines().map(str::to_owned));
    }
    Ok(lines)
}

/// `write(5</data/x>, ""..., 4096) = 4096` → 4096, if `/data` is the directory.
fn written(line: &str, directory: &Path) -> Option<u64> {
    let (call, arguments) = line.split_once('(')?;
    let (arguments, result) = arguments.rsplit_once(" = ")?;
    let target = match call {
        "copy_file_range" | "splice" => arguments.split(", ").nth(2)?,
        _ => arguments.split(", ").next()?,
    };
    let path = target.split_once('<')?.1.rsplit_once('>')?.0;
    let is_below = Path::new(path).starts_with(directory);
    // A failed call says `-1 ENOSPC (…)`, which is no number.
    result.trim().parse().ok().filter(|_| is_below)
}

fn is_fork(line: &str) -> bool {
    let result = line.rsplit_once(" = ").map(|(_, result)| result.trim());
    let is_done = result.and_then(|result| result.split('<').next()?.parse::<u32>().ok()).is_some();
    is_done && !line.contains("CLONE_THREAD")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bytes_that_land_below_the_directory_count() {
        let data = Path::new("/data");
        let bytes = |line| written(line, data);
        assert_eq!(bytes("write(5</data/a/b>, \"\"..., 4096) = 4096"), Some(4096));
        assert_eq!(bytes("write(5</database/b>, \"\"..., 4096) = 4096"), None);
        assert_eq!(bytes("write(5<pipe:[77]>, \"\"..., 12) = 12"), None);
        assert_eq!(bytes("write(5</data/a>, \"\"..., 4096) = -1 ENOSPC (No space)"), None);
        let copy = "copy_file_range(3</store/p>, NULL, 4</data/x>, NULL, 9, 0) = 9";
        assert_eq!(bytes(copy), Some(9));
        assert_eq!(bytes("+++ exited with 0 +++"), None);
    }

    #[test]
    fn threads_are_no_processes() {
        assert!(is_fork("clone(child_stack=NULL, flags=CLONE_VM|CLONE_VFORK|SIGCHLD) = 77"));
        assert!(is_fork("vfork() = 78"));
        assert!(is_fork("clone3({flags=CLONE_VFORK, exit_signal=SIGCHLD}, 88) = 79<git>"));
        assert!(!is_fork("clone3({flags=CLONE_VM|CLONE_THREAD}, 88) = 80"));
        assert!(!is_fork("clone3({flags=CLONE_VM}, 88) = -1 EAGAIN (Try again)"));
    }
}
