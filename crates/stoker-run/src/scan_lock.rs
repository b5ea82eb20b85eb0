//! The gateway's scan lock during one run: taken after all files are written, renewed between two
//! directories, released by the scan that follows.

use std::time::{Duration, Instant};

use stoker_ignition::{Gateway, Held, Lock, Policy, Refusal};
use stoker_sync::Halves;

pub(crate) struct ScanLock {
    pub(crate) gateway: Gateway,
    designers: Policy,
    /// The halves in which files change, once the lock was asked for.
    pub(crate) changed: Halves,
    held: Option<Held>,
    pub(crate) is_missing: bool,
    /// Why the lock could not be kept until all files were in place.
    pub(crate) lost: Option<stoker_ignition::Error>,
    pub(crate) waited: Duration,
}

impl ScanLock {
    pub(crate) fn new(gateway: Gateway, designers: Policy) -> Self {
        let (changed, waited) = (Halves::NONE, Duration::ZERO);
        Self { gateway, designers, changed, held: None, is_missing: false, lost: None, waited }
    }

    /// Takes the lock of the halves in which files will change.
    pub(crate) fn take(&mut self, changed: Halves) -> Result<(), stoker_ignition::Error> {
        self.changed = changed;
        let started = Instant::now();
        let taken = self.ask();
        self.waited += started.elapsed();
        taken
    }

    fn ask(&mut self) -> Result<(), stoker_ignition::Error> {
        match self.gateway.lock(self.changed) {
            Ok(lock) => self.keep(&lock),
            Err(Refusal { error, held }) => {
                self.held = held;
                return Err(error);
            }
        }
        // A session may have been opened since the first check.
        self.gateway.check_designers(self.designers)
    }

    /// Takes the lock again if its time is nearly over.
    pub(crate) fn renew(&mut self) {
        let Some(held) = self.held.filter(|held| held.is_short()) else { return };
        let started = Instant::now();
        // Without it the renames continue: they can't be undone by now. Nor is it asked
        // for again: the run would wait for a silent gateway at every directory.
        match self.gateway.renew(held) {
            Ok(lock) => self.keep(&lock),
            Err(error) => (self.held, self.lost) = (None, Some(error)),
        }
        self.waited += started.elapsed();
    }

    /// Releases a lock under which nothing was changed. The gateway then reads what is there, so a
    /// lock over half a change must expire instead.
    pub(crate) fn release(&mut self) {
        let Some(held) = self.held.take() else { return };
        let started = Instant::now();
        self.gateway.release(held);
        self.waited += started.elapsed();
    }

    fn keep(&mut self, lock: &Lock) {
        self.held = match lock {
            Lock::Held(held) => Some(*held),
            Lock::NotOffered | Lock::NotNeeded => None,
        };
        self.is_missing = match lock {
            Lock::Held(held) => held.halves() != self.changed,
            Lock::NotOffered => true,
            Lock::NotNeeded => false,
        };
    }
}

#[cfg(test)]
mod tests {
    use fake_gateway::{Fault, Ugly};
    use stoker_ignition::{Endpoint, Limits, Options};

    use super::*;

    /// A gateway, and its lock with a hold time that is over at once.
    fn short(directory: &std::path::Path) -> (fake_gateway::Gateway, ScanLock) {
        let fake = fake_gateway::Gateway::start(fake_gateway::Options::default().token("a:b"));
        let (fake, key) = (fake.unwrap(), directory.join("key"));
        std::fs::write(&key, "a:b").unwrap();
        let limits = Limits { hold: Duration::from_nanos(9), ..Limits::default() };
        let options = Options::new(Endpoint::parse(&fake.url()).unwrap(), key);
        let gateway = Gateway::connect(Options { limits, ..options }).unwrap();
        let mut lock = ScanLock::new(gateway, Policy::Proceed);
        lock.take(Halves { projects: true, config: false }).unwrap();
        (fake, lock)
    }

    #[test]
    fn a_lock_that_can_t_be_renewed_is_given_up_and_reported() {
        let directory = tempfile::tempdir().unwrap();
        let (fake, mut lock) = short(directory.path());
        lock.renew();
        assert!(lock.lost.is_none(), "{:?}", lock.lost);
        fake.fail(Fault::new(Ugly::Status(500)).on("/data/api/v1/scan-lock"));
        let before = fake.calls().len();
        lock.renew();
        lock.renew();
        assert_eq!(fake.calls().len(), before + 1, "the next directories do not wait for it");
        let lost = lock.lost.map(|error| error.reason().as_str());
        assert_eq!(lost, Some("GatewayServerFault"));
    }

    #[test]
    fn a_lock_that_is_no_longer_offered_is_not_asked_for_again() {
        let directory = tempfile::tempdir().unwrap();
        let (fake, mut lock) = short(directory.path());
        fake.fail(Fault::new(Ugly::Status(404)).on("/data/api/v1/scan-lock"));
        let before = fake.calls().len();
        lock.renew();
        lock.renew();
        assert_eq!((fake.calls().len(), lock.is_missing), (before + 1, true));
    }
}
