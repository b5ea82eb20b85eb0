//! What a test holds on to: a fault in force, and a time without the server.

use std::sync::Arc;

use super::PATIENCE;
use super::state::Shared;

/// A fault in force. Dropping this changes nothing; [`Rule::lift`] ends the fault.
#[derive(Debug)]
pub struct Rule {
    pub(super) shared: Arc<Shared>,
    pub(super) id: u64,
}

/// A time during which the server can't be reached; ends when dropped.
#[derive(Debug)]
#[must_use = "the server is back as soon as this is dropped"]
pub struct Outage {
    pub(super) shared: Arc<Shared>,
}

impl Rule {
    /// Limits the fault to the next `n` occasions on which it is due.
    #[expect(clippy::return_self_not_must_use, reason = "most tests need no handle")]
    pub fn times(self, n: u64) -> Self {
        self.shared.with(|book| book.rules.entry(self.id).times = n);
        self
    }

    /// Lets the first `n` matching requests or events pass.
    #[expect(clippy::return_self_not_must_use, reason = "most tests need no handle")]
    pub fn after(self, n: u64) -> Self {
        self.shared.with(|book| book.rules.entry(self.id).skip = n);
        self
    }

    /// Strikes each `n`th matching request or event only.
    #[expect(clippy::return_self_not_must_use, reason = "most tests need no handle")]
    pub fn every(self, n: u64) -> Self {
        assert!(n > 0, "every 0th request is none");
        self.shared.with(|book| book.rules.entry(self.id).every = n);
        self
    }

    /// Returns how often the fault has struck.
    pub fn hits(&self) -> u64 {
        self.shared.read(|book| book.rules.hits(self.id))
    }

    /// Waits until the fault has struck so often; panics after a minute.
    pub async fn until_hits(&self, at_least: u64) {
        let held = self.shared.until(|book| book.rules.hits(self.id) >= at_least);
        let held = tokio::time::timeout(PATIENCE, held).await;
        assert!(held.is_ok(), "the fault has struck {} times, not {at_least}", self.hits());
    }

    /// Ends the fault.
    pub fn lift(self) {
        self.shared.with(|book| book.rules.entry(self.id).is_off = true);
    }
}

impl Drop for Outage {
    fn drop(&mut self) {
        self.shared.set_outages(|count| *count -= 1);
    }
}
