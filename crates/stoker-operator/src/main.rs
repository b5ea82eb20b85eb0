//! The operator: controller, admission webhook and receiver in one program.

mod admission;
mod announce;
mod args;
mod bootstrap;
mod certificate;
#[cfg(test)]
mod chart;
mod check;
mod controller;
mod crds;
mod defaults;
mod directory;
mod receiver;
mod release;
mod run;

use std::process::ExitCode;

use clap::Parser as _;
use stoker_api::chain::Chain;

use args::Arguments;

fn main() -> ExitCode {
    // Git runs this same program to ask for credentials; then it is not an operator at all.
    if let Some(code) = stoker_git::helper::serve() {
        return code;
    }
    match run::run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = %Chain(&error), "the operator ended");
            ExitCode::FAILURE
        }
    }
}
