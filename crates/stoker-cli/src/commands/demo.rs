//! `stoker demo`: shows a sync with nothing but this program and git.

mod plant;
mod story;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use crate::cli::Context;
use crate::failure::Failure;
use plant::Plant;

const EXAMPLE: &str = "\
Example:
  stoker demo";

/// Show what Stoker does, with a sample repository and two simulated gateways
///
/// Everything happens in a temporary directory, which is gone afterwards.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Arguments {}

/// Plays the scenes.
pub(crate) fn run(_arguments: &Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let plant = Plant::build()?;
    story::run(&plant, context)?;
    if std::io::stdout().is_terminal() && !context.interruption.cancel.is_cancelled() {
        context.console.say("\nThe gateways run on; Ctrl-C ends them and leaves nothing behind.");
        while !context.interruption.cancel.is_cancelled() {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
    Ok(ExitCode::SUCCESS)
}
