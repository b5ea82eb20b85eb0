//! `stoker dev`: from a working directory, each save at once.

mod check;
mod follow;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use super::sync;
use crate::arguments::{GatewayArguments, TargetArguments};
use crate::cli::Context;
use crate::cycle::{self, Outcome, Setting, Status, Subject};
use crate::failure::Failure;
use crate::job::Target;
use crate::output::shown;
use crate::progress::Progress;
use crate::trigger::Woken;
use follow::Follow;

const EXAMPLE: &str = "\
Example:
  stoker dev . --map services/site/projects:projects --data /usr/local/bin/ignition/data \\
      --gateway http://localhost:8088 --api-key-file key";

/// Bring each save in a working directory to a gateway, until Ctrl-C; uncommitted ones, too
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
    let (target, parts) = check::target(arguments)?;
    let mut follow = Follow::new(&arguments.directory, parts);
    if arguments.once {
        let outcome = once(&target, &mut follow, context);
        context.console.outcome(&outcome);
        return Ok(sync::exit(&outcome));
    }
    follow.begin()?;
    let place = shown(&arguments.directory);
    context.console.invite(&format!("watching {place}, Ctrl-C ends"));
    let mut told = None;
    let mut woken = Woken::Request;
    while woken != Woken::Cancelled {
        let outcome = once(&target, &mut follow, context);
        let state = (outcome.status, outcome.error.as_ref().map(|failure| failure.message.clone()));
        let is_news = outcome.status == Status::Synced || told.as_ref() != Some(&state);
        let is_broken_off =
            outcome.status == Status::Failed && context.interruption.cancel.is_cancelled();
        // A look that nobody asked for is told if there is news, one after a save in any case.
        if !is_broken_off && (is_news || woken == Woken::Request) {
            context.console.outcome(&outcome);
        }
        told = Some(state);
        woken = follow.wait(&context.interruption.cancel);
    }
    Ok(ExitCode::SUCCESS)
}

fn once(target: &Target, follow: &mut Follow, context: &Context) -> Outcome {
    let started = Instant::now();
    let mut outcome = Outcome::begin(None);
    outcome.all = context.console.has_paths().then(Vec::new);
    let progress = Progress::on(&context.console);
    let setting = Setting { target, cancel: &context.interruption.cancel, progress: &progress };
    let result = take(follow, (setting, context), &mut outcome);
    progress.clear();
    cycle::conclude(result, (target, &context.interruption), &mut outcome);
    outcome.speak_of_a_directory();
    outcome.durations.total = started.elapsed();
    outcome
}

fn take(
    follow: &mut Follow,
    (setting, context): (Setting<'_>, &Context),
    outcome: &mut Outcome,
) -> Result<(), Failure> {
    (cycle::SYNC.first)(setting, outcome)?;
    let source = follow.source(context)?;
    let root = source.scan().map_err(|error| follow::failed(&error))?;
    outcome.commit = Some(root.to_string());
    let mut subject = Subject { commit: root.to_string(), source, foresight: None };
    (cycle::SYNC.then)(&mut subject, setting, outcome)
}
