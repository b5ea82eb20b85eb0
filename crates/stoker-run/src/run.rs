//! One run, on one page: open, plan, ask the gateway, write, lock, apply, scan.

use std::time::{Duration, Instant};

use stoker_api::gatewaysync::DriftPolicy;
use stoker_sync::request::{Deletion, DriftCheck};
use stoker_sync::{
    Cancel, EarlyCheck, Engine, Halves, Plan, Report, Request, View, apply, plan, write,
};

use crate::content::{CommitOnDemand, Content, Supply};
use crate::error::{Error, Failed, is_of_source};
use crate::gateway_session::GatewaySession;
use crate::progress::{Phase, Progress};
use crate::recover::Recovered;
use crate::report::{Outcome, Repair, RunReport};
use crate::target::Target;
use crate::warning::Warning;

/// Brings the data directory to the state of a commit, and has the gateway scan it.
pub fn sync(
    target: &Target,
    content: Content<'_>,
    recovered: Recovered,
    cancel: &Cancel,
    progress: &dyn Progress,
) -> Result<RunReport, Failed> {
    Run::begin(recovered, target, cancel, progress).with(content, Run::sync)
}

/// Plans what a sync would change, and changes nothing.
pub fn plan(
    target: &Target,
    content: Content<'_>,
    recovered: Recovered,
    cancel: &Cancel,
    progress: &dyn Progress,
) -> Result<RunReport, Failed> {
    Run::begin(recovered, target, cancel, progress).with(content, Run::plan)
}

/// Makes up for the scans that earlier runs owe, and does nothing else: git is not needed. A killed
/// run is finished before.
pub fn scan_owed(
    target: &Target,
    cancel: &Cancel,
    progress: &dyn Progress,
) -> Result<RunReport, Failed> {
    let mut run = Run::begin(Recovered::none(), target, cancel, progress);
    let result = run.scan_owed();
    run.end(result)
}

pub(crate) struct Run<'a> {
    pub(crate) target: &'a Target,
    pub(crate) cancel: &'a Cancel,
    pub(crate) progress: &'a dyn Progress,
    pub(crate) report: RunReport,
    /// The halves of which another gateway on the same volume was scanned, and this one was not.
    pub(crate) behind: Halves,
    early: Option<EarlyCheck>,
    /// Whether the report says what the last run left.
    has_looked: bool,
    started: Instant,
}

struct Applied {
    report: Report,
    /// Why some files could not be changed.
    missed: Option<Error>,
}

impl<'a> Run<'a> {
    pub(crate) fn begin(
        recovered: Recovered,
        target: &'a Target,
        cancel: &'a Cancel,
        progress: &'a dyn Progress,
    ) -> Self {
        let Recovered { report, early, has_looked, started } = recovered;
        let behind = Halves::NONE;
        Self { target, cancel, progress, report, behind, early, has_looked, started }
    }

    pub(crate) fn into_recovered(self) -> Recovered {
        let Self { report, early, has_looked, started, .. } = self;
        Recovered { report, early, has_looked, started }
    }

    fn with(
        mut self,
        content: Content<'_>,
        steps: fn(&mut Self, &mut dyn Supply, &str) -> Result<(), Error>,
    ) -> Result<RunReport, Failed> {
        let result = match content {
            Content::Commit(content) => {
                let resolution = content.resolution.clone();
                let commit = resolution.commit.to_string();
                let warnings = resolution.warnings.iter().cloned().map(Warning::Ref);
                self.report.warnings.extend(warnings);
                self.report.commit = Some(commit.clone());
                self.report.resolution = Some(resolution);
                let mut supply = CommitOnDemand::new(content, self.cancel, self.progress);
                let result = steps(&mut self, &mut supply, &commit);
                self.report.durations.fetch += supply.spent();
                result
            }
            Content::WorkDir { label, directory } => {
                self.report.commit = Some(label.clone());
                steps(&mut self, directory, &label)
            }
        };
        self.end(result)
    }

    fn end(self, result: Result<(), Error>) -> Result<RunReport, Failed> {
        match result {
            Ok(()) => Ok(self.into_report()),
            Err(error) => Err(self.fail(error)),
        }
    }

    pub(crate) fn fail(self, error: Error) -> Failed {
        Failed { report: Box::new(self.into_report()), error: Box::new(error) }
    }

    pub(crate) fn into_report(mut self) -> RunReport {
        if let Ok(view) = View::open(&self.target.data.data) {
            if !self.has_looked {
                self.found(&view);
            }
            self.report.live_commit = view.commit().map(str::to_owned);
        }
        self.report.durations.total = self.started.elapsed();
        self.report
    }

    /// Takes what the last run left.
    pub(crate) fn found(&mut self, view: &View) {
        self.report.found(view);
        self.has_looked = true;
    }

    /// Takes note of whether the gateway has loaded what is live.
    fn compare_loaded(&mut self, view: &View) {
        let live = view.commit().unwrap_or_default();
        let is_other = self.target.loaded.as_ref().is_some_and(|loaded| loaded != live);
        if is_other && view.owed().is_none() && self.target.gateway.is_some() {
            self.behind = Halves::BOTH;
        }
    }

    /// Returns the scans that are owed: the gateway has not done them yet.
    pub(crate) fn owed(&self, view: &View) -> Halves {
        view.owed().and(self.behind)
    }

    fn sync(&mut self, supply: &mut dyn Supply, commit: &str) -> Result<(), Error> {
        if self.target.profile.paused {
            self.report.warnings.push(Warning::Paused);
            self.report.outcome = Outcome::Paused;
            return Ok(());
        }
        if self.target.profile.dry_run {
            self.plan(supply, commit)?;
            self.report.outcome = Outcome::DryRun;
            return Ok(());
        }
        let (opened, took) = self.timed(supply, |run, supply| run.open_and_plan(supply, commit));
        self.report.durations.plan += took;
        let (mut engine, plan) = opened?;
        self.drifted(&plan, Repair::Failed);
        let owes_projects = self.owed(engine.view()).projects;
        let mut session = self.ask_gateway(&mut engine, &plan, supply)?;
        let (applied, took) = self.timed(supply, |run, supply| {
            let applied = run.write_and_apply(&mut engine, plan, &mut session, supply);
            session.note_lock(&mut run.report);
            applied
        });
        self.report.durations.apply += took;
        // What changed is owed a scan from here on, however the run goes on.
        self.report.scans = self.report.scans.owing(self.owed(engine.view()));
        let Applied { report, missed } = applied?;
        self.report.applied(&report);
        if missed.is_none() && self.report.repair == Repair::Failed {
            self.report.repair = Repair::Done;
        }
        // Which projects an earlier run had touched is not known any more: then all of ours count.
        let projects = if owes_projects { engine.view().projects() } else { report.projects };
        let scanned = session.scan(&mut engine, &projects, self);
        // Files that are not in place matter more than a failed scan.
        missed.map_or(scanned, Err)
    }

    fn plan(&mut self, supply: &mut dyn Supply, commit: &str) -> Result<(), Error> {
        let (planned, took) =
            self.timed(supply, |run, supply| run.plan_without_lock(supply, commit));
        self.report.durations.plan += took;
        let plan = planned?;
        self.drifted(&plan, Repair::Planned);
        self.report.planned(plan);
        Ok(())
    }

    fn scan_owed(&mut self) -> Result<(), Error> {
        self.progress.phase(Phase::Opening);
        let mut engine = self.open(&self.target.data)?;
        self.found(engine.view());
        self.report.commit = engine.view().commit().map(str::to_owned);
        self.report.warn_of(engine.view().notices());
        self.compare_loaded(engine.view());
        if self.owed(engine.view()).is_none() || self.target.gateway.is_none() {
            return Ok(());
        }
        // Waiting for a gateway may take long. A run that waits for this one is to see for which.
        drop(engine.write_holder());
        let session = GatewaySession::begin(self, engine.view()).map_err(Error::Gateway)?;
        let projects = engine.view().projects();
        session.scan(&mut engine, &projects, self)
    }

    /// Plans without the lock: nothing is written.
    fn plan_without_lock(&mut self, supply: &mut dyn Supply, commit: &str) -> Result<Plan, Error> {
        let mut request = self.target.request(commit).map_err(Error::Profile)?;
        let data = &self.target.data;
        let mut view = View::open_following(&data.data, &data.follow).map_err(Error::Open)?;
        self.found(&view);
        view.set_early_check(self.early.take());
        limit_drift_check(&view, &mut request);
        self.progress.phase(Phase::Comparing);
        let mut planned = view.plan(supply, &request, self.cancel);
        // A deletion that would stop a sync is still planned, with a warning.
        let warning = match &planned {
            Err(plan::Error::MassDeletion(blocked)) => {
                self.report.blocked = Some(blocked.clone());
                Some(Warning::DeletionBlocked(blocked.clone()))
            }
            Err(plan::Error::OtherRepository { last, now, files }) => {
                let (last, now) = (last.clone(), now.clone());
                Some(Warning::OtherRepository { last, now, files: *files })
            }
            _ => None,
        };
        if let Some(warning) = warning {
            self.report.warnings.push(warning);
            request.deletion = Deletion::Unlimited;
            planned = view.plan(supply, &request, self.cancel);
        }
        let plan = planned.map_err(|error| self.not_planned(error, supply))?;
        let readable = plan.refuse_pointers(supply);
        readable.map_err(|error| not_written(error, supply))?;
        Ok(plan)
    }

    fn open_and_plan(
        &mut self,
        supply: &mut dyn Supply,
        commit: &str,
    ) -> Result<(Engine, Plan), Error> {
        let mut request = self.target.request(commit).map_err(Error::Profile)?;
        self.progress.phase(Phase::Opening);
        let mut engine = self.open(&self.target.data)?;
        self.found(engine.view());
        self.compare_loaded(engine.view());
        engine.set_early_check(self.early.take());
        limit_drift_check(engine.view(), &mut request);
        self.progress.phase(Phase::Comparing);
        if engine.view().commit() != Some(commit) {
            // A fetch may take long, and other runs wait for us meanwhile. That our name can't be
            // written does not fail the run.
            drop(engine.write_holder());
        }
        let plan = engine.plan(supply, &request, self.cancel);
        let plan = plan.map_err(|error| self.not_planned(error, supply))?;
        if let Some(withheld) = &plan.withheld {
            self.report.blocked = Some(withheld.clone());
            self.report.warnings.push(Warning::DeletionWithheld(withheld.clone()));
        }
        Ok((engine, plan))
    }

    /// Asks the gateway, if there is one and files or owed scans concern it.
    fn ask_gateway(
        &mut self,
        engine: &mut Engine,
        plan: &Plan,
        supply: &mut dyn Supply,
    ) -> Result<GatewaySession, Error> {
        let is_idle = plan.changes.is_empty() && self.owed(engine.view()).is_none();
        if self.target.gateway.is_none() || is_idle {
            return Ok(GatewaySession::None);
        }
        // Waiting for a gateway may take long. A run that waits for this one is to see for which,
        // and none is to wait for our store.
        drop(engine.write_holder());
        supply.rest();
        GatewaySession::begin(self, engine.view()).map_err(Error::Gateway)
    }

    /// Writes the files, takes the scan lock, and puts the files in place.
    fn write_and_apply(
        &mut self,
        engine: &mut Engine,
        plan: Plan,
        session: &mut GatewaySession,
        supply: &mut dyn Supply,
    ) -> Result<Applied, Error> {
        let changes = plan.changes.len();
        if changes > 0 {
            self.progress.phase(Phase::Writing { changes });
        }
        let written = engine.write(plan, supply, self.cancel);
        let written = written.map_err(|error| not_written(error, supply))?;
        supply.rest();
        if changes > 0 {
            self.progress.phase(Phase::Applying);
        }
        if !written.plan().is_noop()
            && let Err(error) = session.lock(written.halves())
        {
            drop(written); // nothing of it stays
            session.release();
            return Err(Error::ScanLock(error));
        }
        match written.apply(&mut || session.renew()) {
            Ok(report) => Ok(Applied { report, missed: None }),
            Err(apply::Error::Incomplete { failed, report }) => {
                let missed = apply::Error::Incomplete { failed, report: report.clone() };
                Ok(Applied { report: *report, missed: Some(Error::Apply(missed)) })
            }
            Err(error @ apply::Error::Begin { .. }) => {
                session.release();
                Err(Error::Apply(error))
            }
            // The lock stays: what is there may be half of our run, or of the one that took over.
            Err(error @ (apply::Error::Record { .. } | apply::Error::LockLost)) => {
                Err(Error::Apply(error))
            }
        }
    }

    /// Takes the drift that a plan has found.
    fn drifted(&mut self, plan: &Plan, repair: Repair) {
        self.report.drift.clone_from(&plan.drift);
        self.report.repair = match self.target.profile.drift_policy {
            DriftPolicy::Repair => repair,
            DriftPolicy::Report => Repair::Reported,
        };
    }

    fn not_planned(&mut self, error: plan::Error, supply: &mut dyn Supply) -> Error {
        if let plan::Error::MassDeletion(blocked) = &error {
            self.report.blocked = Some(blocked.clone());
        }
        match supply.take_error() {
            Some(cause) if is_of_source(&error) => Error::Fetch(cause),
            _ => Error::Plan(error),
        }
    }

    /// Takes a step, and returns how long it took by itself: time for git and for the gateway is
    /// counted there.
    fn timed<T>(
        &mut self,
        supply: &mut dyn Supply,
        step: impl FnOnce(&mut Self, &mut dyn Supply) -> T,
    ) -> (T, Duration) {
        let started = Instant::now();
        let before = supply.spent() + self.report.durations.gateway;
        let result = step(self, supply);
        let others = (supply.spent() + self.report.durations.gateway).saturating_sub(before);
        (result, started.elapsed().saturating_sub(others))
    }
}

/// A run that applies another commit compares only what it touches, so that its cost follows the
/// change. A check of every byte is not shortened.
fn limit_drift_check(view: &View, request: &mut Request) {
    let is_other = view.commit().is_some_and(|commit| commit != request.commit);
    if is_other && request.drift_check == DriftCheck::Stat {
        request.drift_check = DriftCheck::Touched;
    }
}

fn not_written(error: write::Error, supply: &mut dyn Supply) -> Error {
    let is_of_source =
        matches!(error, write::Error::Read { source: stoker_sync::source::Error::Failed });
    match supply.take_error() {
        Some(cause) if is_of_source => Error::Fetch(cause),
        _ => Error::Write(error),
    }
}
