//! `stoker sync`: once.

use std::process::ExitCode;
use std::time::Instant;

use stoker_core::refs::{self, Resolution};
use stoker_git::resolve::{Resolver, resolve};

use crate::arguments::{GatewayArguments, RepositoryArguments, TargetArguments};
use crate::cli::Context;
use crate::cycle::{self, CommitOnDemand, Outcome, Setting, Status, Step, Subject, Supply as _};
use crate::failure::Failure;
use crate::job::Job;
use crate::progress::Progress;
use crate::word::Code;

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
// `plan` and `watch` flatten these into their own, and a group's name must be unique.
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
    let outcome = once(&job, cycle::SYNC, context);
    context.console.outcome(&outcome);
    Ok(exit(&outcome))
}

impl Arguments {
    /// Puts flags and file together.
    pub(crate) fn job(&self) -> Result<Job, Failure> {
        Job::assemble(&self.repository, &self.target, &self.gateway)
    }
}

/// Takes the first part of a step, resolves the ref, and takes the other part with its commit.
pub(crate) fn once(job: &Job, step: Step, context: &Context) -> Outcome {
    let started = Instant::now();
    let name = job.origin.wanted.name();
    let mut outcome = Outcome::begin(Some(name.as_str()));
    outcome.all = context.console.has_paths().then(Vec::new);
    for (code, message) in &job.warnings {
        outcome.warn(*code, message);
    }
    let progress = Progress::on(&context.console);
    let result = take(job, (step, context), &progress, &mut outcome);
    let result = result.map_err(|failure| job.secrets.name_in(failure));
    progress.clear();
    cycle::conclude(result, (&job.target, &context.interruption), &mut outcome);
    outcome.durations.total = started.elapsed();
    outcome
}

/// 0 done, 1 failed.
pub(crate) fn exit(outcome: &Outcome) -> ExitCode {
    if outcome.status == Status::Failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn take(
    job: &Job,
    (step, context): (Step, &Context),
    progress: &Progress,
    outcome: &mut Outcome,
) -> Result<(), Failure> {
    let (origin, cancel) = (&job.origin, &context.interruption.cancel);
    let setting = Setting { target: &job.target, cancel, progress };
    (step.first)(setting, outcome)?;
    let started = Instant::now();
    progress.phase(format!("asking {} for {}", origin.access.remote(), origin.wanted.name()));
    let question = Resolver {
        access: &origin.access,
        store: &origin.store,
        patience: job.target.data.lock_timeout,
        unreachable: origin.unreachable,
    };
    let (resolved, foresight) = cycle::look_while(setting, || {
        let resolved = resolve(&question, &origin.wanted, cancel);
        outcome.durations.resolve = started.elapsed();
        resolved
    });
    outcome.durations.plan += started.elapsed().saturating_sub(outcome.durations.resolve);
    let Resolution { name, commit, warnings } = resolved.map_err(|error| cycle::git(&error))?;
    outcome.resolved_ref = Some(name.into());
    outcome.commit = Some(commit.to_string());
    for warning in warnings {
        let code = match warning {
            refs::Warning::Unreachable { .. } => Code::UnreachableCommit,
            _ => Code::AmbiguousRef,
        };
        outcome.warn(code, &warning.to_string());
    }
    let patience = job.target.data.lock_timeout;
    let mut source = CommitOnDemand::new((origin, &commit), patience, (cancel, progress));
    let mut subject = Subject { commit: commit.to_string(), source: &mut source, foresight };
    let result = (step.then)(&mut subject, setting, outcome);
    outcome.durations.fetch = source.spent();
    result
}
