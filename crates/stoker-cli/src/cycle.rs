//! One run from a source to a gateway: recover, plan, write, apply, scan. It reads like the list of
//! steps.

mod ahead;
mod cause;
mod lap;
mod outcome;
mod recovery;
mod source;
mod talk;

use stoker_sync::request::{Deletion, Look};
use stoker_sync::{Cancel, Engine, Foresight, Plan, Report, Request, View, apply, plan};

pub(crate) use ahead::look_while;
pub(crate) use cause::git;
use outcome::Repair;
pub(crate) use outcome::{Name, Outcome, Planned, Status, Warned};
pub(crate) use source::{CommitOnDemand, Supply};

use crate::failure::Failure;
use crate::job::Target;
use crate::progress::Progress;
use crate::signal::Interruption;
use crate::word::Code;
use lap::Lap;
use talk::Talk;

/// What is to be brought to the data directory.
pub(crate) struct Subject<'a> {
    /// The commit, or a label for a working directory.
    pub(crate) commit: String,
    /// Its content.
    pub(crate) source: &'a mut dyn Supply,
    /// What was seen of the live files before the commit was known.
    pub(crate) foresight: Option<Foresight>,
}

/// What a run goes by, besides its subject.
#[derive(Clone, Copy)]
pub(crate) struct Setting<'a> {
    pub(crate) target: &'a Target,
    pub(crate) cancel: &'a Cancel,
    pub(crate) progress: &'a Progress,
}

/// What is done in a run, in two parts: what needs no commit, and what is done with it.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) first: fn(Setting<'_>, &mut Outcome) -> Result<(), Failure>,
    pub(crate) then: fn(&mut Subject<'_>, Setting<'_>, &mut Outcome) -> Result<(), Failure>,
}

/// Live files were changed.
struct Applied {
    report: Report,
    /// Why not all of them were that should be.
    missed: Option<Failure>,
}

/// Looks, and changes nothing.
pub(crate) const PLAN: Step = Step {
    first: |setting, outcome| {
        recovery::warn(setting, outcome);
        Ok(())
    },
    then: plan,
};

/// Brings the data directory to the state of a subject, and tells the gateway.
pub(crate) const SYNC: Step = Step {
    first: |setting, outcome| {
        let only_looks = setting.target.profile.dry_run;
        if only_looks {
            (PLAN.first)(setting, outcome)
        } else {
            recovery::recover(setting, outcome)
        }
    },
    then: sync,
};

/// Takes the end of a run into its outcome.
pub(crate) fn conclude(
    result: Result<(), Failure>,
    (target, interruption): (&Target, &Interruption),
    outcome: &mut Outcome,
) {
    let result = result.map_err(|failure| interruption.judge(failure));
    if result.is_err() {
        outcome.find(&target.data.data);
    }
    outcome.conclude(result);
}

fn plan(
    subject: &mut Subject<'_>,
    setting: Setting<'_>,
    outcome: &mut Outcome,
) -> Result<(), Failure> {
    let lap = Lap::begin(subject, outcome);
    let planned = show(subject, setting, outcome);
    outcome.durations.plan += lap.end(subject, outcome);
    let plan = planned?;
    outcome.planned(&plan);
    outcome.drifted(&plan.drift, setting.target.profile.drift_policy, Repair::Ahead);
    Ok(())
}

fn show(
    subject: &mut Subject<'_>,
    setting: Setting<'_>,
    outcome: &mut Outcome,
) -> Result<Plan, Failure> {
    let mut request = setting.target.request(&subject.commit)?;
    let data = &setting.target.data;
    let mut view = View::open_following(&data.data, &data.follow)
        .map_err(|error| cause::view(&error, setting.target))?;
    outcome.found(&view);
    view.foresee(subject.foresight.take());
    look_briefly(&view, &mut request);
    setting.progress.phase("comparing".to_owned());
    let mut planned = view.plan(subject.source, &request, setting.cancel);
    // A deletion that would stop a sync is shown, too, and told.
    if let Err(blocked @ (plan::Error::MassDeletion(_) | plan::Error::OtherRepository { .. })) =
        &planned
    {
        let remedy = "a sync would stop here; --allow-mass-delete lifts that";
        outcome.warn(Code::DeletionBlocked, &format!("{blocked}: {remedy}"));
        request.deletion = Deletion::Unlimited;
        planned = view.plan(subject.source, &request, setting.cancel);
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

fn sync(
    subject: &mut Subject<'_>,
    setting: Setting<'_>,
    outcome: &mut Outcome,
) -> Result<(), Failure> {
    let profile = &setting.target.profile;
    if profile.paused {
        pause(setting, outcome);
        return Ok(());
    }
    if profile.dry_run {
        plan(subject, setting, outcome)?;
        outcome.status = Status::DryRun;
        return Ok(());
    }
    let lap = Lap::begin(subject, outcome);
    let looked = look(subject, setting, outcome);
    outcome.durations.plan += lap.end(subject, outcome);
    let (mut engine, plan) = looked?;
    let (drift, is_owed) = (plan.drift.clone(), engine.view().owed().projects);
    let landed = land((&mut engine, plan), subject, setting, outcome);
    let is_whole = landed.as_ref().is_ok_and(|(_, applied)| applied.missed.is_none());
    let repair = if is_whole { Repair::Done } else { Repair::Failed };
    outcome.drifted(&drift, profile.drift_policy, repair);
    let (talk, Applied { report, missed }) = landed?;
    // Which projects an earlier run had touched is not known any more: then all of ours count.
    let names = if is_owed { engine.view().projects() } else { report.projects };
    let told = talk.scan(&mut engine, (&names, setting), outcome);
    // That files are not in place is the greater news.
    missed.map_or(told, Err)
}

/// Nothing is done, so what was live stays live.
fn pause(setting: Setting<'_>, outcome: &mut Outcome) {
    outcome.warn(Code::Paused, "the profile is paused: nothing was done");
    let data = &setting.target.data.data;
    outcome.find(data);
    // Which may be what a killed run has brought, and this one has finished.
    outcome.commit = View::open(data).ok().and_then(|view| view.commit().map(str::to_owned));
    outcome.is_paused = true;
}

/// Opens the data directory and plans.
fn look(
    subject: &mut Subject<'_>,
    setting: Setting<'_>,
    outcome: &mut Outcome,
) -> Result<(Engine, Plan), Failure> {
    let Setting { target, cancel, progress } = setting;
    let mut request = target.request(&subject.commit)?;
    progress.phase("opening the data directory".to_owned());
    let opened = recovery::open(&target.data, setting, outcome);
    let mut engine = opened.map_err(|error| cause::open(&error, target))?;
    outcome.found(engine.view());
    engine.foresee(subject.foresight.take());
    look_briefly(engine.view(), &mut request);
    progress.phase("comparing".to_owned());
    let is_news = engine.view().commit() != Some(&subject.commit);
    if is_news {
        // What is fetched now may take long, and others wait for us meanwhile. A name that can't be
        // written is no reason to fail.
        drop(engine.sign());
    }
    let plan = engine.plan(subject.source, &request, cancel);
    Ok((engine, plan.map_err(|error| cause::plan(&error, target))?))
}

/// Writes the files and puts them in place, as the gateway allows.
fn land(
    (engine, plan): (&mut Engine, Plan),
    subject: &mut Subject<'_>,
    setting: Setting<'_>,
    outcome: &mut Outcome,
) -> Result<(Talk, Applied), Failure> {
    let mut talk = Talk::Silent;
    let is_idle = plan.changes.is_empty() && engine.view().owed().is_none();
    if setting.target.gateway.is_some() && !is_idle {
        // Waiting for a gateway may take long. Whoever waits for us is to see for whom, and nobody
        // is to wait for our store.
        drop(engine.sign());
        subject.source.rest();
        let run = talk::run_of(engine.view());
        talk = Talk::begin(run, setting, outcome).map_err(|error| cause::gateway(&error))?;
    }
    let lap = Lap::begin(subject, outcome);
    let applied = apply((engine, plan), &mut talk, (subject, setting));
    talk.note_gate(outcome);
    outcome.durations.apply += lap.end(subject, outcome);
    // What changed is owed a scan from here on, however the run goes on.
    outcome.scans = outcome.scans.owing(engine.view().owed());
    let applied = applied?;
    outcome.applied(&applied.report);
    Ok((talk, applied))
}

fn apply(
    (engine, plan): (&mut Engine, Plan),
    talk: &mut Talk,
    (subject, setting): (&mut Subject<'_>, Setting<'_>),
) -> Result<Applied, Failure> {
    let Setting { target, cancel, progress } = setting;
    let is_idle = plan.changes.is_empty();
    match plan.changes.len() {
        0 => {}
        1 => progress.phase("writing 1 file".to_owned()),
        count => progress.phase(format!("writing {count} files")),
    }
    let written = engine.write(plan, subject.source, cancel);
    let written = written.map_err(|error| cause::write(&error, target))?;
    subject.source.rest();
    if !is_idle {
        progress.phase("applying".to_owned());
    }
    let error = match written.apply(talk) {
        Ok(report) => return Ok(Applied { report, missed: None }),
        Err(error) => error,
    };
    let failure = cause::apply(&error, target);
    match error {
        apply::Error::Incomplete { report, .. } => {
            return Ok(Applied { report: *report, missed: Some(failure) });
        }
        apply::Error::Gate { .. } | apply::Error::Begin { .. } => talk.release(),
        // The lock stays: what is there may be half of our run, or of the one that took over.
        apply::Error::Record { .. } | apply::Error::LockLost => {}
    }
    Err(failure)
}
