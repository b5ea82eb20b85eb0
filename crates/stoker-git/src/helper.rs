//! What our own program does when it is run as a helper: answer git, become ssh, become git, or end
//! git's own helpers when their parent was killed.
//!
//! A program calls [`serve`] before anything else. It costs four lookups in the environment.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getpgrp, getppid, kill_current_process_group,
    pidfd_open, set_parent_process_death_signal, setrlimit,
};

use crate::auth::{askpass, ssh};

/// Whose death ends git: set on the way from us to git, through our own program.
pub(crate) const PARENT: &str = "STOKER_GIT_PARENT";
/// Set beside it where git talks through helpers of its own: their deaths have to be seen to.
pub(crate) const FAMILY: &str = "STOKER_GIT_FAMILY";
/// The largest file that git may write, in bytes.
pub(crate) const FILE_LIMIT: &str = "STOKER_GIT_FILE_LIMIT";
/// The process group that ends when the standard input is closed.
const WATCHED: &str = "STOKER_GIT_WATCHED";

/// Serves git, if it was git that ran this program, or becomes git, if we did; `None` if the
/// program should go on as usual.
pub fn serve() -> Option<ExitCode> {
    let environment = |name: &str| std::env::var_os(name);
    let arguments = || std::env::args_os().skip(1);
    if let Some(parent) = environment(PARENT) {
        return Some(become_git(&parent, arguments()));
    }
    if let Some(group) = environment(WATCHED) {
        return Some(watch(&group));
    }
    if environment(askpass::FILE).is_some() {
        let prompt = arguments().next()?.into_string().ok()?;
        return Some(answer(&environment, &prompt));
    }
    let arguments = ssh::arguments(&environment, arguments())?;
    Some(become_ssh(arguments))
}

fn answer(environment: &dyn Fn(&str) -> Option<OsString>, prompt: &str) -> ExitCode {
    let Some(mut answer) = askpass::answer(environment, prompt) else {
        return ExitCode::FAILURE;
    };
    answer.push(b'\n');
    let written = std::io::stdout().write_all(&answer);
    if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Git should not outlive us, even if we are killed: nothing else would end it in time.
///
/// It has to be asked for in the process that is to die, so it is asked for here, before git
/// begins.
fn become_git(parent: &OsStr, arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let bound = set_parent_process_death_signal(Some(Signal::KILL));
    let parent = parent.to_str().and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
    // Checked after the signal was asked for: who died before that would not be noticed.
    let Some(parent) = parent.filter(|_| getppid() == parent && bound.is_ok()) else {
        return ExitCode::FAILURE;
    };
    if std::env::var_os(FAMILY).is_some() && set_watch(parent).is_err() {
        return ExitCode::FAILURE;
    }
    if std::env::var_os(FILE_LIMIT).is_some_and(|bytes| limit_files(&bytes).is_err()) {
        return ExitCode::FAILURE;
    }
    let mut git = Command::new("git");
    git.args(arguments).env_remove(PARENT).env_remove(FAMILY).env_remove(FILE_LIMIT);
    become_program(&mut git, "git")
}

/// Limits the files that git and its helpers write. Past the limit they end by SIGXFSZ, without a
/// core dump.
fn limit_files(bytes: &OsStr) -> io::Result<()> {
    let bytes = bytes.to_str().and_then(|bytes| bytes.parse().ok());
    let bytes: u64 = bytes.ok_or(io::ErrorKind::InvalidInput)?;
    let at_most = |bytes| Rlimit { current: Some(bytes), maximum: Some(bytes) };
    setrlimit(Resource::Core, at_most(0))?;
    Ok(setrlimit(Resource::Fsize, at_most(bytes))?)
}

/// Leaves a process behind that ends git's group when `parent` dies.
///
/// The kernel ends git itself, but not what git has started: `git-remote-https` and ssh do not look
/// at their closed pipes while they wait for a server, and would go on with the transfer. The end
/// of a good operation ends the group, and the watch with it.
fn set_watch(parent: Pid) -> io::Result<()> {
    let parent = pidfd_open(parent, PidfdFlags::empty())?;
    // Not by name: an upgrade may have put another program there.
    let mut watch = Command::new("/proc/self/exe");
    watch.arg0("stoker-git-watch").env_clear().env(WATCHED, getpgrp().as_raw_nonzero().to_string());
    watch.stdin(parent).stdout(Stdio::null()).stderr(Stdio::null());
    watch.spawn().map(drop)
}

/// Waits for the end of the process that is our standard input, then ends our group.
fn watch(group: &OsStr) -> ExitCode {
    // Nobody else's group, should the name have got into a user's environment.
    if group.to_str() != Some(&getpgrp().as_raw_nonzero().to_string()) {
        return ExitCode::FAILURE;
    }
    let input = io::stdin();
    while poll(&mut [PollFd::new(&input, PollFlags::IN)], None) == Err(rustix::io::Errno::INTR) {}
    // It ends us, too, so that there is nothing to return to.
    kill_current_process_group(Signal::KILL).unwrap_or_default();
    ExitCode::SUCCESS
}

fn become_ssh(arguments: Vec<OsString>) -> ExitCode {
    let mut ssh = Command::new("ssh");
    ssh.args(arguments);
    for name in [ssh::KEY, ssh::KNOWN_HOSTS, ssh::CONNECT_SECONDS, ssh::ADDRESS, ssh::ALIAS] {
        ssh.env_remove(name);
    }
    let environment = |name: &str| std::env::var_os(name);
    if let Some((library, passwd)) = environment(ssh::LIBRARY).zip(environment(ssh::PASSWD)) {
        ssh.env("LD_PRELOAD", library);
        ssh.env("NSS_WRAPPER_PASSWD", passwd).env("NSS_WRAPPER_GROUP", "/etc/group");
    }
    become_program(&mut ssh, "ssh")
}

fn become_program(program: &mut Command, name: &str) -> ExitCode {
    let error = program.exec();
    // Read by `diagnosis`, like everything that git's helpers say.
    drop(writeln!(std::io::stderr(), "stoker: cannot run {name}: {error}"));
    ExitCode::FAILURE
}
