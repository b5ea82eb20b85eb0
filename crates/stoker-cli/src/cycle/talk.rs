//! What is said to the gateway in a run: before files change, while they do, and after.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use stoker_api::chain::Chain;
use stoker_api::gatewaysync::DesignerSessionPolicy;
use stoker_ignition::{Approach, Gateway, Policy, Run, Scan, ScanOutcome, Verification};
use stoker_sync::{Engine, Gate, View, report};

use super::outcome::Scans;
use super::{Outcome, Setting, cause};
use crate::failure::Failure;
use crate::gate::{self, ScanLock};
use crate::job::Target;
use crate::word::Code;

/// What there is to say to the gateway in this run. It is the engine's gate, too.
pub(super) enum Talk {
    /// Nothing: there is none, or nothing changed and nothing is owed.
    Silent,
    /// The files land; the gateway is told nothing now.
    Land(Scans, Option<Failure>),
    /// Lock, scan, verify.
    Full(Box<ScanLock>),
}

impl Talk {
    /// Before anything is written: is there a gateway, is it ready, does it take our key, is nobody
    /// editing on it?
    pub(super) fn begin(
        run: Run,
        setting: Setting<'_>,
        outcome: &mut Outcome,
    ) -> Result<Self, stoker_ignition::Error> {
        let Some(options) = &setting.target.gateway else { return Ok(Self::Silent) };
        let started = Instant::now();
        setting.progress.phase("asking the gateway".to_owned());
        let mut options = options.clone();
        let cancel = setting.cancel.clone();
        options.cancel = stoker_ignition::Cancel::when(move || cancel.is_cancelled());
        // What was waited for to finish a killed run is not waited for once more.
        let waited = outcome.durations.gateway;
        let talk = Self::approach(options, (run, waited), policy(setting.target));
        outcome.durations.gateway += started.elapsed();
        let talk = talk?;
        if let Self::Land(Scans { projects: Scan::Skipped, .. }, Some(why)) = talk {
            let message = format!("{}; the files land, the next run has it scan them", why.message);
            outcome.warn(Code::GatewayNotReady, &message);
            return Ok(Self::Land(Scans::default(), None));
        }
        Ok(talk)
    }

    fn approach(
        options: stoker_ignition::Options,
        (run, waited): (Run, Duration),
        designers: Policy,
    ) -> Result<Self, stoker_ignition::Error> {
        let gateway = Gateway::connect(options)?;
        match gateway.approach_after(waited, run)? {
            Approach::Scan => {
                gateway.wait_for_designers(designers)?;
                Ok(Self::Full(Box::new(ScanLock::new(gateway, designers))))
            }
            Approach::Land { scan, why } => {
                let scans = if scan == Scan::Skipped { Scans::default() } else { Scans::OWED };
                Ok(Self::Land(scans, Some(cause::gateway(&why))))
            }
        }
    }

    /// Lets go of a lock under which nothing was changed.
    pub(super) fn release(&mut self) {
        if let Self::Full(lock) = self {
            lock.release();
        }
    }

    /// Counts how long the gateway kept the gate shut, and tells what was done without its lock.
    pub(super) fn note_gate(&self, outcome: &mut Outcome) {
        let Self::Full(lock) = self else { return };
        outcome.durations.gateway += lock.waited;
        if lock.is_missing {
            outcome.warn(
                Code::NoScanLock,
                "the gateway has no scan lock, or not for both halves; went on without",
            );
        }
        if let Some(error) = &lock.lost {
            let cost = "the remaining files were put in place without it";
            let message = format!("the scan lock could not be kept: {}; {cost}", Chain(error));
            outcome.warn(Code::ScanLockLost, &message);
        }
    }

    /// After the files are in place: the halves that changed, and those that were owed before.
    pub(super) fn scan(
        self,
        engine: &mut Engine,
        (names, setting): (&[String], Setting<'_>),
        outcome: &mut Outcome,
    ) -> Result<(), Failure> {
        let owed = engine.view().owed();
        let mut lock = match self {
            Self::Silent => return Ok(()),
            Self::Land(scans, why) => {
                outcome.scans = scans.limited_to(owed);
                return why.map_or(Ok(()), Err);
            }
            Self::Full(lock) => lock,
        };
        let started = Instant::now();
        setting.progress.phase("waiting for the gateway's scan".to_owned());
        // What was locked is scanned in any case: nothing else lets the lock go.
        let scanned = lock.gateway.scan(gate::halves(owed.and(lock.changed)));
        if setting.cancel.is_cancelled() {
            // It may not have come to that. All files are in place, so they may be read.
            lock.release();
        }
        outcome.scans = Scans::of(&scanned);
        let expected = present(names, &setting.target.data.data);
        let loaded = verify(&lock.gateway, &expected, &scanned, outcome);
        outcome.durations.gateway += started.elapsed();
        if loaded.is_err() {
            // Whoever asks again is to get the same answer until it is another.
            outcome.scans.projects = Scan::Owed;
        }
        let done = report::Halves {
            projects: owed.projects && outcome.scans.projects == Scan::Done,
            config: owed.config && scanned.config == Scan::Done,
        };
        let settled = engine.settle(done);
        settled.map_err(|error| cause::settle(&error, setting.target))?;
        match scanned.errors.into_iter().next() {
            Some((_, error)) => Err(cause::gateway(&error)),
            None => loaded,
        }
    }
}

impl Gate for Talk {
    fn prepare(&mut self, changed: report::Halves) {
        if let Self::Full(lock) = self {
            lock.prepare(changed);
        }
    }

    fn open(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        match self {
            Self::Full(lock) => lock.open(),
            Self::Silent | Self::Land(..) => Ok(()),
        }
    }

    fn renew(&mut self) {
        if let Self::Full(lock) = self {
            lock.renew();
        }
    }
}

/// Whether a gateway may have loaded what is there.
pub(super) fn run_of(view: &View) -> Run {
    if view.is_first() { Run::First } else { Run::Later }
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

/// The projects that are there: one that was deleted is not to be loaded.
fn present(names: &[String], data: &Path) -> BTreeSet<String> {
    let exists = |name: &&String| data.join("projects").join(name).join("project.json").is_file();
    names.iter().filter(exists).cloned().collect()
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
        Verification::NotVerified(error @ stoker_ignition::Error::Cancelled) => {
            Err(cause::gateway(&error))
        }
        Verification::NotVerified(error) => {
            outcome
                .warn(Code::NotVerified, &format!("can't tell what the gateway loaded: {error}"));
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use stoker_ignition::{Endpoint, Options};

    use super::*;
    use crate::word::Word;

    #[test]
    fn a_lock_that_was_lost_is_told_with_its_reason() {
        let options = Options::new(Endpoint::parse("http://gateway:8088").unwrap(), "key");
        let mut lock = ScanLock::new(Gateway::connect(options).unwrap(), Policy::Proceed);
        lock.lost = Some(stoker_ignition::Error::NoKey);
        let mut outcome = Outcome::default();
        Talk::Full(Box::new(lock)).note_gate(&mut outcome);
        let [warned] = &outcome.warnings[..] else { panic!("{:?}", outcome.warnings) };
        assert_eq!(warned.code, Word::from(Code::ScanLockLost));
        assert!(warned.message.contains("there is no API key"), "{}", warned.message);
    }
}
