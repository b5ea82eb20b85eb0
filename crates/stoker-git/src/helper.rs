//! What our own program does when it is run as a helper: answer git, become ssh, become git.
//!
//! A program calls [`serve`] before anything else. It costs three lookups in the environment.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::auth::{askpass, ssh};

/// Whose death ends git: set on the way from us to git, through our own program.
pub(crate) const PARENT: &str = "STOKER_GIT_PARENT";

/// Serves git, if it was git that ran this program, or becomes git, if we did; `None` if the program should go on as usual.
pub fn serve() -> Option<ExitCode> {
    let environment = |name: &str| std::env::var_os(name);
    let arguments = || std::env::args_os().skip(1);
    if let Some(parent) = environment(PARENT) {
        return Some(become_git(&parent, arguments()));
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

/// Git should not outlive us, even if we are killed: nobody would be left to end it in time.
///
/// It has to be asked for in the process that is to die, so it is asked for here, before git begins.
fn become_git(parent: &OsStr, arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let bound = set_parent_process_death_signal(Some(Signal::KILL));
    let parent = parent.to_str().and_then(|pid| pid.parse().ok());
    let orphaned = parent.is_none() || getppid().map(Pid::as_raw_nonzero) != parent;
    if bound.is_err() || orphaned {
        return ExitCode::FAILURE;
    }
    become_program(Command::new("git").args(arguments).env_remove(PARENT), "git")
}

fn become_ssh(arguments: Vec<OsString>) -> ExitCode {
    let mut ssh = Command::new("ssh");
    ssh.args(arguments);
    for name in [ssh::KEY, ssh::KNOWN_HOSTS, ssh::CONNECT_SECONDS] {
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
