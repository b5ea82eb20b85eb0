//! The requests to the gateway in one run: before files change, while they change, and after.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use stoker_api::gatewaysync::DesignerSessionPolicy;
use stoker_ignition::{DataDirectory, Gateway, Policy, Preflight, Scan, ScanOutcome, Verification};
use stoker_sync::{Engine, Halves, View};

use crate::error::Error;
use crate::progress::Phase;
use crate::report::{RunReport, Scans};
use crate::run::Run;
use crate::scan_lock::ScanLock;
use crate::target::{GatewayAbsence, GatewayTarget, Target};
use crate::warning::Warning;

pub(crate) enum GatewaySession {
    /// There is no gateway, or nothing changed and no scan is owed.
    None,
    /// The gateway is not up: the files land without lock and scan.
    Absent {
        /// What becomes of the scans.
        scans: Scans,
        /// The error that the run ends with, if its target says so.
        error: Option<stoker_ignition::Error>,
    },
    /// The gateway is up: lock, scan, verify.
    Present(Box<ScanLock>),
}

impl GatewaySession {
    /// Asks before anything is written: is the gateway ready, does it accept our key, is no
    /// designer session open?
    pub(crate) fn begin(run: &mut Run<'_>, view: &View) -> Result<Self, stoker_ignition::Error> {
        let Some(target) = &run.target.gateway else { return Ok(Self::None) };
        let started = Instant::now();
        run.progress.phase(Phase::AskingGateway);
        let options =
            stoker_ignition::Options { cancel: run.cancel.clone(), ..target.options.clone() };
        let session = Self::preflight(options, target, view, run);
        run.report.durations.gateway += started.elapsed();
        session
    }

    fn preflight(
        options: stoker_ignition::Options,
        target: &GatewayTarget,
        view: &View,
        run: &mut Run<'_>,
    ) -> Result<Self, stoker_ignition::Error> {
        let gateway = Gateway::connect(options)?;
        let preflight = match target.absence {
            GatewayAbsence::Owes => gateway.preflight_at_once()?,
            // The time that finishing a killed run waited for is not waited for once more.
            GatewayAbsence::Fails => {
                gateway.preflight(run.report.durations.gateway, data_directory(view))?
            }
        };
        match preflight {
            Preflight::Scan => {
                let designers = policy(run.target);
                gateway.wait_for_designers(designers)?;
                Ok(Self::Present(Box::new(ScanLock::new(gateway, designers))))
            }
            Preflight::FilesOnly { scan: Scan::Skipped, why } => {
                run.report.warnings.push(Warning::GatewayNotReady(why));
                Ok(Self::Absent { scans: Scans::default(), error: None })
            }
            Preflight::FilesOnly { scan: _, why } => {
                let error = match target.absence {
                    GatewayAbsence::Fails => Some(why),
                    GatewayAbsence::Owes => {
                        run.report.gateway_absent = Some(why);
                        None
                    }
                };
                Ok(Self::Absent { scans: Scans::OWED, error })
            }
        }
    }

    pub(crate) fn lock(&mut self, changed: Halves) -> Result<(), stoker_ignition::Error> {
        match self {
            Self::Present(lock) => lock.take(changed),
            Self::None | Self::Absent { .. } => Ok(()),
        }
    }

    pub(crate) fn renew(&mut self) {
        if let Self::Present(lock) = self {
            lock.renew();
        }
    }

    /// Releases a lock under which nothing was changed.
    pub(crate) fn release(&mut self) {
        if let Self::Present(lock) = self {
            lock.release();
        }
    }

    /// Reports how long the lock took, and what was done without it.
    pub(crate) fn note_lock(&mut self, report: &mut RunReport) {
        let Self::Present(lock) = self else { return };
        report.durations.gateway += std::mem::take(&mut lock.waited);
        if lock.is_missing {
            report.warnings.push(Warning::ScanLockNotOffered);
        }
        if let Some(error) = lock.lost.take() {
            report.warnings.push(Warning::ScanLockLost(error));
        }
    }

    /// Scans the halves that changed and those that were owed before, once the files are in place.
    pub(crate) fn scan(
        self,
        engine: &mut Engine,
        projects: &[String],
        run: &mut Run<'_>,
    ) -> Result<(), Error> {
        let owed = run.owed(engine.view());
        let mut lock = match self {
            Self::None => return Ok(()),
            Self::Absent { scans, error } => {
                run.report.scans = scans.limited_to(owed);
                return error.map_or(Ok(()), |error| Err(Error::Scan(error)));
            }
            Self::Present(lock) => lock,
        };
        let started = Instant::now();
        run.progress.phase(Phase::Scanning);
        // What was locked is scanned in any case: only a scan releases the lock.
        let scanned = lock.gateway.scan(owed.and(lock.changed));
        if run.cancel.is_cancelled() {
            // The scan may not have been asked for. All files are in place, so they may be read.
            lock.release();
        }
        run.report.scans = Scans::of(&scanned);
        let expected = present(projects, &run.target.data.data);
        let loaded = verify(&lock.gateway, &expected, &scanned, run);
        run.report.durations.gateway += started.elapsed();
        if loaded.is_err() {
            // The next run asks again, and fails again until the projects are loaded.
            run.report.scans.projects = Scan::Owed;
        }
        let done = Halves {
            projects: owed.projects && run.report.scans.projects == Scan::Done,
            config: owed.config && scanned.config == Scan::Done,
        };
        engine.record_scanned(done).map_err(Error::RecordScan)?;
        match scanned.errors.into_iter().next() {
            Some((_, error)) => Err(Error::Scan(error)),
            None => loaded,
        }
    }
}

/// Whether a gateway may have loaded what is there.
fn data_directory(view: &View) -> DataDirectory {
    if view.is_first() { DataDirectory::New } else { DataDirectory::Synced }
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

/// The projects that exist: one that was deleted is not to be loaded.
fn present(names: &[String], data: &Path) -> BTreeSet<String> {
    let exists = |name: &&String| data.join("projects").join(name).join("project.json").is_file();
    names.iter().filter(exists).cloned().collect()
}

fn verify(
    gateway: &Gateway,
    expected: &BTreeSet<String>,
    scanned: &ScanOutcome,
    run: &mut Run<'_>,
) -> Result<(), Error> {
    if scanned.projects != Scan::Done || expected.is_empty() {
        return Ok(());
    }
    match gateway.verify(expected) {
        Verification::Loaded => Ok(()),
        Verification::Missing(projects) => Err(Error::ProjectsNotLoaded { projects }),
        Verification::NotVerified(error @ stoker_ignition::Error::Cancelled) => {
            Err(Error::Scan(error))
        }
        Verification::NotVerified(error) => {
            run.report.warnings.push(Warning::NotVerified(error));
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use stoker_api::warning::WarningCode;
    use stoker_ignition::{Endpoint, Options};

    use super::*;

    #[test]
    fn a_lock_that_was_lost_is_reported_with_its_reason() {
        let options = Options::new(Endpoint::parse("http://gateway:8088").unwrap(), "key");
        let mut lock = ScanLock::new(Gateway::connect(options).unwrap(), Policy::Proceed);
        lock.lost = Some(stoker_ignition::Error::NoKey);
        let mut report = RunReport::default();
        GatewaySession::Present(Box::new(lock)).note_lock(&mut report);
        let [warning] = &report.warnings[..] else { panic!("{:?}", report.warnings) };
        assert_eq!(warning.code(), WarningCode::ScanLockLost);
        assert!(warning.to_string().contains("there is no API key"), "{warning}");
    }
}
