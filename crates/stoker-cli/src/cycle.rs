//! One run from a source to a gateway: plan, write, apply, scan. It reads like the list of steps.

mod cause;
mod outcome;
mod source;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use stoker_api::gatewaysync::DesignerSessionPolicy;
use stoker_ignition::{Approach, Gateway, Policy, Run, Scan, ScanOutcome, Verification};
use stoker_sync::request::{Deletion, Look};
use stoker_sync::source::Source;
use stoker_sync::{Cancel, Engine, OpenGate, Plan, Report, Request, View, plan, report};

pub(crate) use cause::git;
pub(crate) use outcome::{Name, Outcome, Planned, Status, Warned};
pub(crate) use source::CommitOnDemand;

use crate::failure::Failure;
use crate::gate::{self, ScanLock};
use crate::job::Target;
use crate::progress::Progress;
use outcome::Scans;

/// What is to be brought to the data directory.
pub(crate) struct Subject<'a> {
    /// The commit, or a label for a working directory.
    pub(crate) commit: String,
    /// Its content.
    pub(crate) source: &'a mut dyn Source,
}

/// What a run goes by, besides its subject.
#[derive(Clone, Copy)]
pub(crate) struct Setting<'a> {
    pub(crate) target: &'a Target,
    pub(crate) cancel: &'a Cancel,
    pub(crate) progress: &'a Progress,
}

/// Looks, and changes nothing.
pub(crate) fn plan(
    subject: &mut Subject<'_>,
    setting: Setting<'_>,
    outcome: &mut Outcome,
) -> Result<(), Failure> {
    let mut request = setting.target.request(&subject.commit)?;
    let mut view = View::open(&setting.target.data.data)
        .map_err(|error| cause::open(&error, setting.target))?;
    outcome.found(&view);
    look_briefly(&view, &mut request);
    setting.progress.phase("comparing".to_owned());
    let plan = preview(
        |source, request| view.plan(source, request, setting.cancel),
        subject,
        (request, setting),
        outcome,
    )?;
    outcome.planned(&plan, Status::Planned);
    Ok(())
}

/// A plan that is only shown: a deletion that would stop a sync is shown, too, and told.
fn preview(
    mut plan: impl FnMut(&mut dyn Source, &Request) -> Result<Plan, plan::Error>,
    subject: &mut Subject<'_>,
    (mut request, setting): (Request, Setting<'_>),
    outcome: &mut Outcome,
) -> Result<Plan, Failure> {
    let mut planned = plan(subject.source, &request);
    if let Err(plan::Error::MassDeletion(blocked)) = &planned {
        let remedy = "a sync would stop here; --allow-mass-delete lifts that";
        outcome.warn("DeletionBlocked", &format!("{blocked}: {remedy}"));
        request.deletion = Deletion::Unlimited;
        planned = plan(subject.source, &request);
    }
    let plan = planned.map_err(|error| cause::plan(&error, setting.target))?;
    plan.refuse_pointers(subject.source).map_err(|error| cause::write(&error, setting.target))?;
    Ok(plan)
}

/// A run that brings another commit looks only at what it touches, so that its cost follows the
/// change; whoever asks for a look at every byte gets it all the same.
fn look_briefly(view: &View, request: &mut Request) {
    let is_other = view.commit().is_some_and(|commit| commit != request.commit);
    if is_other && request.look == Look::Stat {
        request.look = Look::Touched;
    }
}

/// Brings the data directory to the state of the subject, and tells the gateway.
pub(crate) fn sync(
    subject: &mut Subject<'_>,
    setting: Setting<'_>,
    outcome: &mut Outcome,
) -> Result<(), Failure> {
    let Setting { target, cancel, progress } = setting;
    if target.profile.paused {
        outcome.warn("Paused", "the profile is paused: nothing was done");
        return Ok(());
    }
    let mut request = target.request(&subject.commit)?;
    progress.phase("opening the data directory".to_owned());
    let mut engine =
        Engine::open(&target.data, cancel).map_err(|error| cause::open(&error, setting.target))?;
    outcome.found(engine.view());
    look_briefly(engine.view(), &mut request);
    progress.phase("comparing".to_owned());
    if target.profile.dry_run {
        let plan = preview(
            |source, request| engine.plan(source, request, cancel),
            subject,
            (request, setting),
            outcome,
        )?;
        outcome.planned(&plan, Status::DryRun);
        return Ok(());
    }
    let plan = engine.plan(subject.source, &request, cancel);
    let plan = plan.map_err(|error| cause::plan(&error, target))?;
    outcome.drifted(&plan, target.profile.drift_policy);
    let mut talk = Talk::begin(&engine, &plan, setting, outcome)?;
    progress.phase(format!("writing {} files", plan.changes.len()));
    let written = engine.write(plan, subject.source, cancel);
    let written = written.map_err(|error| cause::write(&error, target))?;
    progress.phase("applying".to_owned());
    let applied = talk.apply(written, target, outcome);
    // What changed is owed a scan from here on, however the run goes on.
    outcome.scans = Scans::OWED.limited_to(engine.view().owed());
    let report = applied?;
    outcome.applied(&report);
    talk.scan(&mut engine, (&report, setting), outcome)
}

/// What there is to say to the gateway in this run.
enum Talk {
    /// Nothing: there is none, or nothing changed and nothing is owed.
    Silent,
    /// The files land; the gateway is told nothing now.
    Land(Scans, Option<Failure>),
    /// Lock, scan, verify.
    Full(Box<Gateway>, Policy),
}

impl Talk {
    /// Before anything is written: is there a gateway, is it ready, does it take our key, is nobody
    /// editing on it?
    fn begin(
        engine: &Engine,
        plan: &Plan,
        setting: Setting<'_>,
        outcome: &mut Outcome,
    ) -> Result<Self, Failure> {
        let Some(options) = &setting.target.gateway else { return Ok(Self::Silent) };
        if plan.changes.is_empty() && engine.view().owed().is_none() {
            return Ok(Self::Silent);
        }
        let started = Instant::now();
        setting.progress.phase("asking the gateway".to_owned());
        let mut options = options.clone();
        let cancel = setting.cancel.clone();
        options.cancel = stoker_ignition::Cancel::when(move || cancel.is_cancelled());
        let gateway = Gateway::connect(options).map_err(|error| cause::gateway(&error))?;
        let run = if engine.view().commit().is_none() { Run::First } else { Run::Later };
        let approach = gateway.approach(run).map_err(|error| cause::gateway(&error))?;
        let designers = policy(setting.target);
        let talk = match approach {
            Approach::Scan => {
                let closed = gateway.wait_for_designers(designers);
                closed.map_err(|error| cause::gateway(&error))?;
                Self::Full(Box::new(gateway), designers)
            }
            Approach::Land { scan: Scan::Skipped, why } => {
                outcome
                    .warn("GatewayNotReady", &format!("{why}; the files land, it scans nothing"));
                Self::Land(Scans::default(), None)
            }
            Approach::Land { why, .. } => Self::Land(Scans::OWED, Some(cause::gateway(&why))),
        };
        outcome.durations.gateway += started.elapsed();
        Ok(talk)
    }

    fn apply(
        &self,
        written: stoker_sync::Written<'_>,
        target: &Target,
        outcome: &mut Outcome,
    ) -> Result<Report, Failure> {
        let Self::Full(gateway, designers) = self else {
            return written.apply(&mut OpenGate).map_err(|error| cause::apply(&error, target));
        };
        let halves = report::Halves::of(written.plan().changes.iter().map(|c| &c.path));
        let mut lock = ScanLock::new(gateway, halves, *designers);
        let report = written.apply(&mut lock).map_err(|error| cause::apply(&error, target))?;
        if lock.is_missing {
            outcome.warn("NoScanLock", "the gateway has no scan lock; went on without");
        }
        Ok(report)
    }

    /// After the files are in place: the halves that changed, and those that were owed before.
    fn scan(
        &mut self,
        engine: &mut Engine,
        (report, setting): (&Report, Setting<'_>),
        outcome: &mut Outcome,
    ) -> Result<(), Failure> {
        let gateway = match self {
            Self::Silent => return Ok(()),
            Self::Land(scans, why) => {
                let owed = engine.view().owed();
                outcome.scans = scans.limited_to(owed);
                if why.is_none() {
                    let settled = engine.settle(owed);
                    settled.map_err(|error| cause::settle(&error, setting.target))?;
                }
                return why.take().map_or(Ok(()), Err);
            }
            Self::Full(gateway, _) => gateway,
        };
        let started = Instant::now();
        setting.progress.phase("waiting for the gateway's scan".to_owned());
        let data = &setting.target.data.data;
        let owed = engine.view().owed();
        let scanned = gateway.scan(gate::halves(owed));
        outcome.scans = Scans::of(&scanned);
        let done = report::Halves {
            projects: owed.projects && scanned.projects == Scan::Done,
            config: owed.config && scanned.config == Scan::Done,
        };
        let settled = engine.settle(done);
        settled.map_err(|error| cause::settle(&error, setting.target))?;
        let loaded = verify(gateway, &present(report, data), &scanned, outcome);
        outcome.durations.gateway += started.elapsed();
        match scanned.errors.into_iter().next() {
            Some((_, error)) => Err(cause::gateway(&error)),
            None => loaded,
        }
    }
}

fn policy(target: &Target) -> Policy {
    match target.profile.designer_session_policy {
        DesignerSessionPolicy::Proceed => Policy::Proceed,
        DesignerSessionPolicy::Fail => Policy::Fail,
        DesignerSessionPolicy::Wait => {
            Policy::Wait(target.profile.designer_session_timeout.as_duration())
        }
    }
}

/// The projects that changed and are still there: one that was deleted is not to be loaded.
fn present(report: &Report, data: &Path) -> BTreeSet<String> {
    let exists = |name: &&String| data.join("projects").join(name).join("project.json").is_file();
    report.projects.iter().filter(exists).cloned().collect()
}

/// Whether the gateway has loaded what it should.
fn verify(
    gateway: &Gateway,
    expected: &BTreeSet<String>,
    scanned: &ScanOutcome,
    outcome: &mut Outcome,
) -> Result<(), Failure> {
    if scanned.projects != Scan::Done || expected.is_empty() {
        return Ok(());
    }
    match gateway.verify(expected) {
        Verification::Loaded => Ok(()),
        Verification::Missing(names) => Err(cause::not_loaded(&names)),
        Verification::NotVerified(error) => {
            outcome.warn("NotVerified", &format!("can't tell what the gateway loaded: {error}"));
            Ok(())
        }
    }
}
