//! `stoker dev`: from a working directory, each save at once.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use notify::{RecursiveMode, Watcher as _};
use stoker_sync::request::Mapping;
use stoker_sync::{RelPath, WorkDir};

use super::sync;
use crate::arguments::{GatewayArguments, TargetArguments};
use crate::cli::Context;
use crate::cycle::{self, Outcome, Setting, Subject};
use crate::failure::Failure;
use crate::job::{Target, real};
use crate::output::shown;
use crate::progress::Progress;
use crate::trigger::{Trigger, Woken};

/// An editor writes a file in several steps; this long without one more means that it is done.
const SETTLED: Duration = Duration::from_millis(40);
/// File systems that send no events are looked at this often.
const RESCAN: Duration = Duration::from_secs(30);

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
    if !arguments.directory.is_dir() {
        let message = format!("{} is not a directory", shown(&arguments.directory));
        return Err(Failure::usage(message).hint("name the directory that you edit, such as ."));
    }
    let same = |left: &Path, right: &Path| {
        left.canonicalize().is_ok_and(|left| right.canonicalize().is_ok_and(|right| left == right))
    };
    if same(&arguments.directory, &arguments.target.data) {
        return Err(Failure::usage("the working directory and --data are the same directory")
            .hint("name the gateway's own data directory with --data"));
    }
    let target = Target::of_directory(&arguments.target, &arguments.gateway, &arguments.directory)?;
    let mappings = mappings(&target);
    refuse_overlap(&arguments.directory, &arguments.target.data, &mappings)?;
    let parts = mappings.into_iter().map(|mapping| mapping.source).collect();
    let mut source = WorkDir::open(&arguments.directory, parts)
        .map_err(|error| Failure::world("WorkingDirectory", &error))?;
    let trigger = Trigger::new();
    let watcher = if arguments.once { None } else { Some(watch(&arguments.directory, &trigger)?) };
    loop {
        let outcome = once(&target, &mut source, context);
        context.console.outcome(&outcome);
        if arguments.once {
            return Ok(sync::exit(&outcome));
        }
        if trigger.wait(RESCAN, &context.interruption.cancel) == Woken::Cancelled {
            drop(watcher);
            return Ok(ExitCode::SUCCESS);
        }
        while !trigger.is_quiet_for(SETTLED) {}
    }
}

/// What goes where. A mapping that only a commit could complete has no place in a directory.
fn mappings(target: &Target) -> Vec<Mapping> {
    target.request(&"0".repeat(40)).map(|request| request.mappings).unwrap_or_default()
}

/// Refuses files that would be mapped into their own source, again with every look, or over it.
fn refuse_overlap(directory: &Path, data: &Path, mappings: &[Mapping]) -> Result<(), Failure> {
    let below = |root: &Path, path: &RelPath| real(&root.join(OsStr::from_bytes(path)));
    for mapping in mappings {
        let source = below(directory, &mapping.source);
        let destination = below(data, &mapping.destination);
        if real(data).starts_with(&source) || destination.starts_with(&source) {
            let (data, source) = (shown(data), shown(&source));
            let message = format!("--data {data} lies in {source}, which is mapped into it");
            return Err(Failure::usage(message)
                .hint("map a part that the data directory is not in, or move it: --data DIR"));
        }
        if source.starts_with(&destination) {
            let (source, destination) = (shown(&source), shown(&destination));
            let message = format!("{source} lies in {destination}, where its files are to go");
            return Err(Failure::usage(message)
                .hint("name the directory that you edit, apart from the gateway's own"));
        }
    }
    Ok(())
}

fn once(target: &Target, source: &mut WorkDir, context: &Context) -> Outcome {
    let started = Instant::now();
    let mut outcome = Outcome::begin(None);
    let cancel = &context.interruption.cancel;
    let setting = Setting { target, cancel, progress: &Progress::silent() };
    let result = take(source, setting, &mut outcome);
    cycle::conclude(result, (target, &context.interruption), &mut outcome);
    outcome.durations.total = started.elapsed();
    outcome
}

fn take(source: &mut WorkDir, setting: Setting<'_>, outcome: &mut Outcome) -> Result<(), Failure> {
    (cycle::SYNC.first)(setting, outcome)?;
    let root = source.scan().map_err(|error| Failure::world("WorkingDirectory", &error))?;
    outcome.commit = Some(root.to_string());
    let mut subject = Subject { commit: root.to_string(), source, foresight: None };
    (cycle::SYNC.then)(&mut subject, setting, outcome)
}

fn watch(directory: &Path, trigger: &Trigger) -> Result<notify::RecommendedWatcher, Failure> {
    let failed = |error: notify::Error| Failure::world("WatchFailed", &error);
    let sender = trigger.sender();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let is_change = event.is_ok_and(|event| !event.kind.is_access());
        if is_change {
            sender.try_send(()).ok();
        }
    })
    .map_err(failed)?;
    watcher.watch(directory, RecursiveMode::Recursive).map_err(failed)?;
    Ok(watcher)
}
