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
mod rlimit;
mod run_document;
mod signal;
mod trigger;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Git runs this same program to ask for credentials; then it is not a command line at all.
    if let Some(code) = stoker_git::helper::serve() {
        return code;
    }
    rlimit::raise();
    cli::run(std::env::args_os())
}
