//! `stoker plan`: shows what would change.

use std::process::ExitCode;

use super::sync;
use crate::cli::Context;
use crate::explain::Mode;
use crate::failure::Failure;
use crate::output::Format;

const EXAMPLE: &str = "\
Example:
  stoker plan -f gatewaysync.yaml --profile site --data /usr/local/bin/ignition/data";

/// Show what a sync would change, and change nothing
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Arguments {
    /// Exit with 3 when there are changes
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    sync: sync::Arguments,
}

pub(crate) fn run(arguments: &Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let job = arguments.sync.job()?;
    let mut document = sync::once(&job, Mode::Plan, context);
    if context.console.format != Format::Table {
        // Those who read a plan find its list, whatever went wrong.
        document.changes.get_or_insert_default();
    }
    context.console.document(&document);
    let has_changes = document.changes.as_ref().is_some_and(|changes| !changes.is_empty());
    if arguments.exit_code && has_changes {
        return Ok(ExitCode::from(3));
    }
    Ok(sync::exit(&document))
}
