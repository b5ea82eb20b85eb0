//! Child processes that end with the test, however the test ends.
//!
//! Does not know what it runs; the servers of this crate do.
//!
//! # Promises
//! - A dropped [`Guarded`] is killed and reaped, its whole family with it.
//! - When the test process ends, by SIGKILL too, the kernel ends the child: `setpriv` gives it a
//!   parent-death signal. The kernel ties that signal to the *thread* that spawned, and libtest
//!   ends a thread per test, so one thread that never ends spawns everything (`spawner`).
//! - Grandchildren end as well where the kernel lets us make a pid namespace (`fence`): the child
//!   is its first process, and the kernel kills a namespace whose first process dies.
//!
//! # Assumes
//! The child keeps its user: the kernel forgets the parent-death signal of a process that changes
//! it.

mod fence;
mod spawner;

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Output};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};

/// Directories that Debian keeps from the `PATH` of ordinary users.
const SYSTEM_DIRECTORIES: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// A process that hangs in the kernel must not hang the test.
const DEATH_TAKES_AT_MOST: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// A running program that can't outlive the test process.
#[derive(Debug)]
#[must_use = "the program ends when this value is dropped"]
pub struct Guarded {
    child: Child,
}

/// Returns a command for `program` that [`Guarded::spawn`] accepts.
///
/// Arguments, environment, directory and streams are added to it as to any other command. Fails
/// with `NotFound` where the program, or `setpriv` of util-linux, is not installed.
pub fn command(program: impl AsRef<OsStr>) -> io::Result<Command> {
    let program = find_program(program.as_ref())?;
    fence::wrap(&program)
}

/// Returns the path of an installed program: on `PATH`, then in the directories of the system.
///
/// A name with a slash is taken as it is. The error names the program.
pub fn find_program(name: &OsStr) -> io::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories: Vec<PathBuf> = if name.as_encoded_bytes().contains(&b'/') {
        vec![PathBuf::new()]
    } else {
        std::env::split_paths(&path).chain(SYSTEM_DIRECTORIES.map(PathBuf::from)).collect()
    };
    let mut files = directories.iter().map(|directory| directory.join(name));
    files.find(|file| is_executable(file)).ok_or_else(|| {
        let reason = format!("program {} is not installed", name.display());
        io::Error::new(io::ErrorKind::NotFound, reason)
    })
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

impl Guarded {
    /// Starts a command made by [`command`], in a process group of its own.
    ///
    /// Another command is refused: it would not die with us.
    pub fn spawn(command: Command) -> io::Result<Self> {
        if !fence::is_wrapped(&command) {
            let program = command.get_program().display();
            let reason = format!("{program} is not guarded: use process::command");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        Ok(Self { child: spawner::spawn(command)? })
    }

    /// Returns the id of our direct child: the program itself, or the fence around it.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the id of the program, once it runs inside its fence.
    ///
    /// `None` while it is being started, and after its end.
    pub fn program_pid(&self) -> Option<u32> {
        if fence::is_none() {
            return Some(self.pid());
        }
        let outer = self.pid();
        let children = std::fs::read_to_string(format!("/proc/{outer}/task/{outer}/children"));
        children.ok()?.split_ascii_whitespace().next()?.parse().ok()
    }

    /// Takes the write end of the program's standard input, if it was piped.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Takes the read end of the program's standard output, if it was piped.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// Takes the read end of the program's standard error, if it was piped.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// Waits for the program's end.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }

    /// Waits for the program's end and returns what it wrote to those streams that are piped.
    pub fn output(mut self) -> io::Result<Output> {
        drop(self.take_stdin());
        let stderr = self.take_stderr();
        // Read both at once: a program that fills one pipe would never close the other.
        let errors = thread::spawn(move || stderr.map_or_else(|| Ok(Vec::new()), read_all));
        let stdout = self.take_stdout().map_or_else(|| Ok(Vec::new()), read_all)?;
        let stderr = errors.join().map_err(|_| io::Error::other("the reader panicked"))??;
        Ok(Output { status: self.wait()?, stdout, stderr })
    }

    /// Returns how the program ended, or `None` while it runs.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Sends a signal to the program, not to its fence.
    ///
    /// A fenced program is the first process of its namespace: a signal that it has no handler for
    /// does nothing to it, SIGKILL and SIGSTOP excepted.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        let program = self.program_pid().and_then(as_pid).ok_or(io::ErrorKind::NotFound)?;
        Ok(kill_process(program, signal)?)
    }

    /// Ends the program and everything it started, and waits until that is true.
    pub fn kill(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.child.try_wait()? {
            return Ok(status);
        }
        self.kill_family();
        self.child.wait()
    }

    /// The fence can be reaped before its namespace is empty, so the program's end is waited for by
    /// a descriptor of its own. Killing the group also hits a program that is being forked right
    /// now.
    fn kill_family(&self) {
        let program = self.program_pid().filter(|pid| *pid != self.pid()).and_then(as_pid);
        let watch = program.and_then(|program| pidfd_open(program, PidfdFlags::empty()).ok());
        if let Some(group) = as_pid(self.pid()) {
            // The group can only be gone if everything in it has ended by itself.
            kill_process_group(group, Signal::KILL).ok();
        }
        if let Some(watch) = watch {
            poll(&mut [PollFd::new(&watch, PollFlags::IN)], Some(&DEATH_TAKES_AT_MOST)).ok();
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // Nothing sensible is left to do if the kernel refuses: a drop has nobody to tell.
        self.kill().ok();
    }
}

fn read_all(mut stream: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn as_pid(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

#[cfg(test)]
mod tests;
