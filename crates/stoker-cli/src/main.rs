//! The command line of Stoker.

mod arguments;
mod cli;
mod commands;
mod cycle;
mod descriptors;
mod failure;
mod gate;
mod job;
mod output;
mod progress;
mod signal;
mod trigger;
mod word;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Git runs this same program to ask for credentials; then it is not a command line at all.
    if let Some(code) = stoker_git::helper::serve() {
        return code;
    }
    descriptors::raise();
    cli::run(std::env::args_os())
}
