//! What a killed run left comes first: before git is asked for anything, because git may be away
//! for long, and a mixture of two commits must not stay live for so long.

use std::error::Error;
use std::time::{Duration, Instant};

use stoker_api::chain::Chain;
use stoker_sync::{Engine, Gate, OpenError, Options, View, lock, report};

use super::talk::{self, Talk};
use super::{Outcome, Setting, cause};
use crate::failure::Failure;
use crate::word::Code;

/// Finishes or undoes what a killed run left, if there is something.
pub(super) fn recover(setting: Setting<'_>, outcome: &mut Outcome) -> Result<(), Failure> {
    if !is_unfinished(setting) {
        return Ok(());
    }
    // Whoever has the lock is alive, and ends their run themselves.
    let options = Options { lock_timeout: Duration::ZERO, ..setting.target.data.clone() };
    let (started, before) = (Instant::now(), outcome.durations.gateway);
    let opened = open(&options, setting, outcome);
    let waited = outcome.durations.gateway.saturating_sub(before);
    outcome.durations.apply += started.elapsed().saturating_sub(waited);
    let engine = match opened {
        Err(OpenError::Lock { source: lock::Error::Held { .. } }) => return Ok(()),
        opened => opened.map_err(|error| cause::open(&error, setting.target))?,
    };
    outcome.found(engine.view());
    outcome.noticed(engine.view());
    Ok(())
}

/// Says what a look alone can't mend.
pub(super) fn warn(setting: Setting<'_>, outcome: &mut Outcome) {
    if is_unfinished(setting) {
        let message =
            "another run is at work, or ended early: then the next sync finishes it first";
        outcome.warn(Code::Unfinished, message);
    }
}

/// What can't be looked at is told by whoever opens it in earnest.
fn is_unfinished(setting: Setting<'_>) -> bool {
    View::is_unfinished(&setting.target.data.data).unwrap_or(false)
}

/// Opens the data directory. If that changed live files, the gateway is told, as after any change.
pub(super) fn open(
    options: &Options,
    setting: Setting<'_>,
    outcome: &mut Outcome,
) -> Result<Engine, OpenError> {
    let changed = report::Halves::default();
    let mut gate = Call { setting, outcome, changed, talk: None, refusal: None };
    let opened = Engine::open_through(options, &mut gate, setting.cancel);
    let Call { talk, changed, refusal, .. } = gate;
    match &opened {
        Ok(engine) => outcome.finished(engine.view()),
        Err(OpenError::Recover { .. }) => {
            outcome.scans = outcome.scans.owing(changed);
            outcome.warn(Code::Unfinished, "a run that had ended early can't be finished yet");
        }
        Err(_) => {}
    }
    // On an error the lock stays: what the killed run left may be a mixture, not to be scanned.
    let mut engine = opened?;
    let Some(mut talk) = talk else { return Ok(engine) };
    talk.note_gate(outcome);
    if let Some(refusal) = refusal {
        talk.release();
        outcome.scans = outcome.scans.owing(changed);
        let message = format!("a run that had ended early was finished without it: {refusal}");
        outcome.warn(Code::NoScanLock, &message);
        return Ok(engine);
    }
    let names = engine.view().projects();
    // A failure is no news: the scan stays owed, and the run that goes on asks for it again.
    talk.scan(&mut engine, (&names, setting), outcome).ok();
    Ok(engine)
}

/// A gate that calls the gateway only when it is asked to open. It opens also if the gateway says
/// no: what is live is a mixture of two commits, and no lock is worth that it stays.
struct Call<'a> {
    setting: Setting<'a>,
    outcome: &'a mut Outcome,
    changed: report::Halves,
    talk: Option<Talk>,
    /// What the gateway said, if it said no.
    refusal: Option<String>,
}

impl Call<'_> {
    fn ask(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        let view = View::open(&self.setting.target.data.data)?;
        self.outcome.found(&view);
        self.talk = Some(Talk::Silent);
        let mut talk = Talk::begin(talk::run_of(&view), self.setting, self.outcome)?;
        talk.prepare(self.changed);
        self.talk.insert(talk).open()
    }
}

impl Gate for Call<'_> {
    fn prepare(&mut self, changed: report::Halves) {
        self.changed = changed;
    }

    fn open(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        let asked = self.ask();
        let Err(error) = &asked else { return asked };
        match error.downcast_ref::<stoker_ignition::Error>() {
            Some(stoker_ignition::Error::Cancelled) | None => asked,
            Some(refusal) => {
                self.refusal = Some(Chain(refusal).to_string());
                Ok(())
            }
        }
    }

    fn renew(&mut self) {
        if let Some(talk) = self.talk.as_mut().filter(|_| self.refusal.is_none()) {
            talk.renew();
        }
    }
}
