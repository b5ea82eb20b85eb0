//! The gateway's scan lock as the engine's gate: taken when everything is written, renewed between
//! two directories, and let go by the scan that follows.

use std::error::Error;
use std::time::{Duration, Instant};

use stoker_ignition::{Gateway, Half, Halves, Held, Lock, Policy};
use stoker_sync::{Gate, report};

/// Asks the gateway before live files change.
pub(crate) struct ScanLock {
    pub(crate) gateway: Gateway,
    designers: Policy,
    /// The halves in which files change, once that is known.
    pub(crate) changed: report::Halves,
    held: Option<Held>,
    /// Whether the gateway has no lock to offer.
    pub(crate) is_missing: bool,
    /// How long the gateway kept us waiting.
    pub(crate) waited: Duration,
}

impl ScanLock {
    /// A lock, not taken yet.
    pub(crate) fn new(gateway: Gateway, designers: Policy) -> Self {
        let (changed, waited) = (report::Halves::default(), Duration::ZERO);
        Self { gateway, designers, changed, held: None, is_missing: false, waited }
    }

    fn take(&mut self) -> Result<(), stoker_ignition::Error> {
        let lock = self.gateway.lock(halves(self.changed))?;
        self.keep(&lock);
        // A session may have been opened since the first look.
        self.gateway.check_designers(self.designers)
    }

    fn keep(&mut self, lock: &Lock) {
        match lock {
            Lock::Held(held) => self.held = Some(*held),
            Lock::NotOffered => self.is_missing = true,
            Lock::NotNeeded => {}
        }
    }
}

/// The engine's halves in the gateway's words.
pub(crate) fn halves(changed: report::Halves) -> Halves {
    let pairs = [(Half::Projects, changed.projects), (Half::Config, changed.config)];
    let meant = pairs.into_iter().filter(|(_, is_meant)| *is_meant);
    meant.fold(Halves::NONE, |halves, (half, _)| halves.with(half))
}

impl Gate for ScanLock {
    fn prepare(&mut self, changed: report::Halves) {
        self.changed = changed;
    }

    fn open(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        let started = Instant::now();
        let taken = self.take();
        self.waited += started.elapsed();
        Ok(taken?)
    }

    fn renew(&mut self) {
        let Some(held) = self.held.filter(|held| held.is_short()) else { return };
        let started = Instant::now();
        // Without it the renames go on all the same: there is no way back by now.
        if let Ok(lock) = self.gateway.renew(held) {
            self.keep(&lock);
        }
        self.waited += started.elapsed();
    }
}
