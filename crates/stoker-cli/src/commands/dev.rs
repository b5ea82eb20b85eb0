//! `stoker dev`: syncs a working directory after each save.

mod check;
mod follow;

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;

use stoker_run::{Content, Excess, Failed, RunReport};

use super::sync;
use crate::arguments::{GatewayArguments, TargetArguments};
use crate::cli::Context;
use crate::explain::{self, Mode};
use crate::failure::Failure;
use crate::job::Target;
use crate::output::shown;
use crate::progress::Progress;
use crate::run_document::{RunDocument, Status};
use crate::trigger::Woken;
use follow::Follow;

const EXAMPLE: &str = "\
Example:
  stoker dev . --map services/site/projects:projects --data /usr/local/bin/ignition/data \\
      --gateway http://localhost:8088 --api-key-file key";

/// Sync each save in a working directory to a gateway until Ctrl-C, committed or not
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Arguments {
    /// The directory that you edit
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Sync once and end
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    target: TargetArguments,
    #[command(flatten)]
    gateway: GatewayArguments,
}

/// Syncs, and does so again whenever a file changes.
pub(crate) fn run(arguments: &Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let (mut target, parts) = check::target(arguments)?;
    // A directory that is being edited is often half empty; what was saved should still arrive.
    target.run.excess = Excess::Withheld;
    let mut follow = Follow::new(&arguments.directory, parts);
    if arguments.once {
        let document = once(&target, &mut follow, context);
        context.console.document(&document);
        return Ok(sync::exit(&document));
    }
    follow.begin()?;
    let place = shown(&arguments.directory);
    context.console.invite(&format!("watching {place}, Ctrl-C ends"));
    let (mut printed, mut warned) = (None, HashSet::new());
    let mut woken = Woken::Request;
    while woken != Woken::Cancelled {
        let mut document = once(&target, &mut follow, context);
        let is_warned = document.compare_warnings(&mut warned);
        let state =
            (document.status, document.error.as_ref().map(|failure| failure.message.clone()));
        let is_synced = document.status == Status::Synced;
        let is_new = is_synced || is_warned || printed.as_ref() != Some(&state);
        let is_broken_off =
            document.status == Status::Failed && context.interruption.cancel.is_cancelled();
        // A periodic check is printed if its result is new, a check after a save always.
        if !is_broken_off && (is_new || woken == Woken::Request) {
            context.console.document(&document);
        }
        printed = Some(state);
        woken = follow.wait(&context.interruption.cancel);
    }
    Ok(ExitCode::SUCCESS)
}

fn once(target: &Target, follow: &mut Follow, context: &Context) -> RunDocument {
    let progress = Progress::on(&context.console);
    let (report, failure) = attempt(target, follow, context, &progress);
    progress.clear();
    let failure = failure.map(|failure| context.interruption.judge(failure));
    let mut document = RunDocument::of(&report, failure);
    if context.console.has_paths() {
        document.list_all(&report);
    }
    document
}

fn attempt(
    target: &Target,
    follow: &mut Follow,
    context: &Context,
    progress: &Progress,
) -> (RunReport, Option<Failure>) {
    let (run, cancel) = (&target.run, &context.interruption.cancel);
    let failure_of =
        |failed: Failed| (*failed.report, Some(explain::run(&failed.error, target, Mode::Dev)));
    let recovered = match stoker_run::recover(run, cancel, progress) {
        Ok(recovered) => recovered,
        Err(error) => return failure_of(error),
    };
    let (label, directory) = match follow.scan(context) {
        Ok(scanned) => scanned,
        Err(failure) => return (recovered.into_report(run), Some(failure)),
    };
    let files = Content::WorkDir { label, directory };
    let ended = stoker_run::sync(run, files, recovered, cancel, progress);
    ended.map_or_else(failure_of, |report| (report, None))
}
