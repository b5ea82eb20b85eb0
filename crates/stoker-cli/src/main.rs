//! The command line of Stoker.

mod arguments;
mod cli;
mod cluster;
mod commands;
#[cfg(test)]
mod docs;
mod explain;
mod failure;
mod job;
mod output;
mod progress;
mod remedy;
mod run_document;
mod signal;
mod trigger;

use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

fn main() -> ExitCode {
    // Git runs this same program to ask for credentials; then it is not a command line at all.
    if let Some(code) = stoker_git::helper::serve() {
        return code;
    }
    raise_open_files();
    cli::run(std::env::args_os())
}

/// Raises the number to what is allowed at most: a walk down a tree keeps one file open for each
/// level, and trees may be deep.
fn raise_open_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Where it can't be raised, it is what it was.
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).ok();
}
