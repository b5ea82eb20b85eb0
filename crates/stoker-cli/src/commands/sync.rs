//! `stoker sync`: syncs once.

use std::process::ExitCode;

use stoker_git::resolve::{Resolver, resolve};
use stoker_git::store::Location;
use stoker_run::{CommitContent, Content, Failed, RunReport};

use crate::arguments::{GatewayArguments, RepositoryArguments, TargetArguments};
use crate::cli::Context;
use crate::explain::{self, Mode};
use crate::failure::Failure;
use crate::job::Job;
use crate::progress::Progress;
use crate::run_document::{RunDocument, Status};

/// The shortest way, and the one with a cluster's manifest.
const EXAMPLES: &str = "\
Examples:
  stoker sync --repo https://host/plant.git --ref main \\
      --map services/site/projects:projects --data /usr/local/bin/ignition/data
  stoker sync -f gatewaysync.yaml --profile site --data /usr/local/bin/ignition/data \\
      --gateway http://localhost:8088 --api-key-file key";

/// Bring a data directory to the state of a commit, once
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
// `plan`, `watch` and `demo` flatten these into their own, and a group's name must be unique.
#[group(skip)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) repository: RepositoryArguments,
    #[command(flatten)]
    pub(crate) target: TargetArguments,
    #[command(flatten)]
    pub(crate) gateway: GatewayArguments,
}

/// Syncs once.
pub(crate) fn run(arguments: &Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let job = arguments.job()?;
    let document = once(&job, Mode::Sync, context);
    context.console.document(&document);
    Ok(exit(&document))
}

impl Arguments {
    /// Puts flags and file together.
    pub(crate) fn job(&self) -> Result<Job, Failure> {
        Job::assemble(&self.repository, &self.target, &self.gateway)
    }
}

/// Makes one run, and returns the document of it.
pub(crate) fn once(job: &Job, mode: Mode, context: &Context) -> RunDocument {
    let progress = Progress::on(&context.console);
    let (report, failure) = attempt(job, mode, context, &progress);
    progress.clear();
    if failure.is_some() && context.console.has_paths() {
        for line in job.origin.access.server_words.take() {
            context.console.note(&format!("the server said: {line}"));
        }
    }
    let failure = failure.map(|failure| context.interruption.judge(failure));
    let mut document = RunDocument::of(&report, failure);
    document.git_ref = Some(job.origin.wanted.name().to_string());
    document.warn_first(&job.warnings);
    if context.console.has_paths() {
        document.list_all(&report);
    }
    document
}

/// 0 done, 1 failed.
pub(crate) fn exit(document: &RunDocument) -> ExitCode {
    if document.status == Status::Failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Recovers, resolves the ref, and syncs or plans its commit.
fn attempt(
    job: &Job,
    mode: Mode,
    context: &Context,
    progress: &Progress,
) -> (RunReport, Option<Failure>) {
    let (origin, cancel) = (&job.origin, &context.interruption.cancel);
    let target = &job.target.run;
    let failure_of =
        |failed: Failed| (*failed.report, Some(explain::run(&failed.error, &job.target, mode)));
    let recovered = match mode {
        Mode::Sync | Mode::Dev => stoker_run::recover(target, cancel, progress),
        Mode::Plan => Ok(stoker_run::inspect(target)),
    };
    let recovered = match recovered {
        Ok(recovered) => recovered,
        Err(error) => return failure_of(error),
    };
    progress.resolving(&origin.access.remote(), origin.wanted.name().as_str());
    let query = Resolver {
        access: &origin.access,
        store: &origin.store,
        lock_timeout: target.data.lock_timeout,
        unreachable: origin.unreachable,
    };
    let (resolved, recovered) =
        recovered.check_while(target, cancel, || resolve(&query, &origin.wanted, cancel));
    let resolution = match resolved {
        Ok(resolution) => resolution,
        Err(error) => {
            return (recovered.into_report(target), Some(explain::git(&error, &job.target)));
        }
    };
    let store = Location::at(&origin.store);
    let files = Content::Commit(CommitContent {
        resolution: &resolution,
        access: &origin.access,
        store: &store,
        store_timeout: target.data.lock_timeout,
    });
    let ended = match mode {
        Mode::Sync | Mode::Dev => stoker_run::sync(target, files, recovered, cancel, progress),
        Mode::Plan => stoker_run::plan(target, files, recovered, cancel, progress),
    };
    ended.map_or_else(failure_of, |report| (report, None))
}
