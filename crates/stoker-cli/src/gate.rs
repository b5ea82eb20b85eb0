//! The gateway's scan lock as the engine's gate: taken when everything is written, renewed between
//! two directories, and let go by the scan that follows.

use std::error::Error;

use stoker_ignition::{Gateway, Half, Halves, Held, Lock, Policy};
use stoker_sync::{Gate, report};

/// Asks the gateway before live files change.
pub(crate) struct ScanLock<'a> {
    gateway: &'a Gateway,
    halves: Halves,
    designers: Policy,
    held: Option<Held>,
    /// Whether the gateway has no lock to offer.
    pub(crate) is_missing: bool,
}

impl<'a> ScanLock<'a> {
    /// A lock for these halves, not taken yet.
    pub(crate) fn new(gateway: &'a Gateway, changed: report::Halves, designers: Policy) -> Self {
        Self { gateway, halves: halves(changed), designers, held: None, is_missing: false }
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

impl Gate for ScanLock<'_> {
    fn open(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        let lock = self.gateway.lock(self.halves)?;
        self.keep(&lock);
        // A session may have been opened since the first look.
        Ok(self.gateway.check_designers(self.designers)?)
    }

    fn renew(&mut self) {
        let Some(held) = self.held.filter(|held| held.is_short()) else { return };
        // Without it the renames go on all the same: there is no way back by now.
        if let Ok(lock) = self.gateway.renew(held) {
            self.keep(&lock);
        }
    }
}
