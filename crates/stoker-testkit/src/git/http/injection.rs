//! Answers that no repository gives: outages, limits, refusals.

use std::time::Duration;

/// An answer that the server gives by itself, to some requests.
#[derive(Debug, Clone)]
pub struct Injection {
    pub(super) status: u16,
    pub(super) retry_after: Option<Duration>,
    pub(super) html: Option<String>,
    skip: usize,
    times: Option<usize>,
}

impl Injection {
    /// Answers every request with this status.
    pub fn status(status: u16) -> Self {
        Self { status, retry_after: None, html: None, skip: 0, times: None }
    }

    /// Lets the first `count` requests pass.
    #[must_use]
    pub fn after(mut self, count: usize) -> Self {
        self.skip = count;
        self
    }

    /// Ends after `count` answers.
    #[must_use]
    pub fn times(mut self, count: usize) -> Self {
        self.times = Some(count);
        self
    }

    /// Adds a `Retry-After` header.
    #[must_use]
    pub fn retry_after(mut self, delay: Duration) -> Self {
        self.retry_after = Some(delay);
        self
    }

    /// Adds a body of HTML: text that must never be shown to a user.
    #[must_use]
    pub fn html(mut self, body: impl Into<String>) -> Self {
        self.html = Some(body.into());
        self
    }

    /// Counts one request, and says whether this is the answer to it.
    pub(super) fn fires(&mut self) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        match &mut self.times {
            None => true,
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
        }
    }
}
