//! Finishes a killed run before git is contacted. Git may be unreachable for hours, and files of
//! two commits must not stay mixed that long.

use std::time::{Duration, Instant};

use stoker_sync::{
    Cancel, EarlyCheck, Engine, Halves, Interrupted, OpenError, Opened, Options, View, lock,
};

use crate::error::{Error, Failed};
use crate::gateway_session::GatewaySession;
use crate::progress::{Phase, Progress, Silent};
use crate::report::RunReport;
use crate::run::Run;
use crate::target::Target;
use crate::warning::Warning;

/// How long a run waits for another one before it says so.
const MOMENT: Duration = Duration::from_secs(1);

/// The beginning of a run: what a killed run left is finished or undone.
#[derive(Debug)]
pub struct Recovered {
    pub(crate) report: RunReport,
    /// What the drift check has seen while the remote was asked.
    pub(crate) early: Option<EarlyCheck>,
    pub(crate) has_looked: bool,
    pub(crate) started: Instant,
}

/// Finishes or undoes what a killed run left in the data directory, if there is something. For a
/// profile that asks for a dry run it only warns, like [`inspect`].
pub fn recover(
    target: &Target,
    cancel: &Cancel,
    progress: &dyn Progress,
) -> Result<Recovered, Failed> {
    if target.profile.dry_run {
        return Ok(inspect(target));
    }
    let mut run = Run::begin(Recovered::none(), target, cancel, progress);
    match run.recover() {
        Ok(()) => Ok(run.into_recovered()),
        Err(error) => Err(run.fail(error)),
    }
}

/// Warns of what a killed run left, and changes nothing.
pub fn inspect(target: &Target) -> Recovered {
    let mut recovered = Recovered::none();
    if is_unfinished(target) {
        recovered.report.warnings.push(Warning::Unfinished);
    }
    recovered
}

impl Recovered {
    /// A run that does not first check for a killed one: [`sync`](crate::sync) finishes
    /// that when it opens the data directory.
    pub fn none() -> Self {
        let report = RunReport::default();
        Self { report, early: None, has_looked: false, started: Instant::now() }
    }

    /// Ends the run here, for example because its ref could not be resolved.
    pub fn into_report(self, target: &Target) -> RunReport {
        Run::begin(self, target, &Cancel::default(), &Silent).into_report()
    }
}

/// A directory that can't be read is reported by the run that opens it.
fn is_unfinished(target: &Target) -> bool {
    View::is_unfinished(&target.data.data).unwrap_or(false)
}

impl Run<'_> {
    fn recover(&mut self) -> Result<(), Error> {
        if !is_unfinished(self.target) {
            return Ok(());
        }
        // A holder of the lock is alive, and ends its run itself.
        let options = Options { lock_timeout: Duration::ZERO, ..self.target.data.clone() };
        let (started, before) = (Instant::now(), self.report.durations.gateway);
        let opened = self.open(&options);
        let waited = self.report.durations.gateway.saturating_sub(before);
        self.report.durations.apply += started.elapsed().saturating_sub(waited);
        let engine = match opened {
            Err(Error::Open(OpenError::Lock { source: lock::Error::Held { .. } })) => {
                return Ok(());
            }
            opened => opened?,
        };
        self.found(engine.view());
        self.report.warn_of(engine.view().notices());
        Ok(())
    }

    /// Opens the data directory. If that changes live files, the gateway is asked to scan, as after any
    /// change.
    pub(crate) fn open(&mut self, options: &Options) -> Result<Engine, Error> {
        match self.wait_and_open(options).map_err(Error::Open)? {
            Opened::Ready(engine) => Ok(engine),
            Opened::Interrupted(interrupted) => self.finish(interrupted),
        }
    }

    /// Says for which run this one waits, if the wait takes longer than a moment.
    fn wait_and_open(&self, options: &Options) -> Result<Opened, OpenError> {
        let Some(rest) = options.lock_timeout.checked_sub(MOMENT).filter(|rest| !rest.is_zero())
        else {
            return Engine::open(options, self.cancel);
        };
        let brief = Options { lock_timeout: MOMENT, ..options.clone() };
        let before = match Engine::open(&brief, self.cancel) {
            Err(OpenError::Lock { source: lock::Error::Held { holder, waited } }) => {
                self.progress.phase(Phase::WaitingForLock { holder: &holder });
                waited
            }
            opened => return opened,
        };
        let patient = Options { lock_timeout: rest, ..options.clone() };
        Engine::open(&patient, self.cancel).map_err(|error| match error {
            OpenError::Lock { source: lock::Error::Held { holder, waited } } => {
                let waited = before + waited;
                OpenError::Lock { source: lock::Error::Held { holder, waited } }
            }
            error => error,
        })
    }

    fn finish(&mut self, interrupted: Interrupted) -> Result<Engine, Error> {
        let changed = interrupted.halves();
        let mut session = GatewaySession::None;
        let refusal = match self.lock_to_finish(changed, &mut session) {
            Ok(()) => None,
            // What is live is a mixture of two commits, and no lock is worth that it stays.
            Err(Error::Gateway(error) | Error::ScanLock(error))
                if !matches!(error, stoker_ignition::Error::Cancelled) =>
            {
                Some(error)
            }
            Err(error) => return Err(self.not_finished(changed, error)),
        };
        let is_locked = refusal.is_none();
        let finished = interrupted.finish(&mut || {
            if is_locked {
                session.renew();
            }
        });
        // On an error the lock stays: what the killed run left may be a mixture, not to be scanned.
        let mut engine =
            finished.map_err(|error| self.not_finished(changed, Error::Open(error)))?;
        self.report.finished(engine.view());
        session.note_lock(&mut self.report);
        if let Some(refusal) = refusal {
            session.release();
            self.report.scans = self.report.scans.owing(changed);
            self.report.warnings.push(Warning::ScanLockRefused(refusal));
            return Ok(engine);
        }
        let projects = engine.view().projects();
        // A scan that fails stays owed, and the run that goes on asks for it again.
        session.scan(&mut engine, &projects, self).ok();
        Ok(engine)
    }

    fn lock_to_finish(
        &mut self,
        changed: Halves,
        session: &mut GatewaySession,
    ) -> Result<(), Error> {
        let view = View::open(&self.target.data.data).map_err(Error::Open)?;
        self.found(&view);
        *session = GatewaySession::begin(self, &view).map_err(Error::Gateway)?;
        session.lock(changed).map_err(Error::ScanLock)
    }

    fn not_finished(&mut self, changed: Halves, error: Error) -> Error {
        self.report.scans = self.report.scans.owing(changed);
        self.report.warnings.push(Warning::NotFinished);
        error
    }
}
