//! Requests scans of the halves that changed, in order, and waits until the gateway reports that
//! they are done.

use std::time::{Duration, Instant};

use stoker_sync::{Half, Halves};

use crate::client::Access;
use crate::error::{Error, Reason};
use crate::gateway::Gateway;
use crate::health::A_MOMENT;

/// Pauses between two attempts at a scan that is owed; then every sync period.
const RETRIES: [Duration; 4] = [
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(30),
    Duration::from_mins(1),
];

/// What became of one half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scan {
    /// The gateway has scanned since we asked.
    Done,
    /// Nothing to scan.
    Skipped,
    /// The gateway refused, or did not say in time that it scanned; to be asked again.
    Failed,
    /// The gateway could not be asked; to be asked again.
    Owed,
}

/// What became of both, and why.
#[derive(Debug)]
#[must_use]
pub struct ScanOutcome {
    /// Of `projects/`.
    pub projects: Scan,
    /// Of `config/`.
    pub config: Scan,
    /// Why a half is failed or owed, in the order of asking.
    pub errors: Vec<(Half, Error)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Status {
    is_active: bool,
    /// By the gateway's clock: compared with itself only, never with ours.
    timestamp: i64,
}

/// Growing pauses between two requests.
pub(crate) struct Pace(Duration);

impl Scan {
    /// Returns the word that scripts rely on.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
            Self::Owed => "owed",
        }
    }
}

impl ScanOutcome {
    /// Returns the halves that must be asked for again, even if no file changes.
    pub fn owed(&self) -> Halves {
        let is_owed = |half: &Half| matches!(self.of(*half), Scan::Failed | Scan::Owed);
        Halves::BOTH.iter().filter(is_owed).fold(Halves::NONE, Halves::with)
    }

    /// Returns what became of one half.
    pub fn of(&self, half: Half) -> Scan {
        match half {
            Half::Projects => self.projects,
            Half::Config => self.config,
        }
    }

    fn set(&mut self, half: Half, scan: Scan) {
        match half {
            Half::Projects => self.projects = scan,
            Half::Config => self.config = scan,
        }
    }
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self(Duration::from_millis(25))
    }

    pub(crate) fn next(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (pause * 2).min(Duration::from_secs(1));
        pause
    }
}

/// Returns the pause before attempt number `attempt` (from 0) at a scan that is owed.
pub fn retry_after(attempt: usize, sync_period: Duration) -> Duration {
    RETRIES.get(attempt).copied().unwrap_or(sync_period)
}

impl Gateway {
    /// Scans these halves, one after the other in the order of [`Half::ORDER`], and waits for each
    /// as long as the limits allow. Releases their locks.
    pub fn scan(&self, halves: Halves) -> ScanOutcome {
        let (projects, config) = (Scan::Skipped, Scan::Skipped);
        let mut outcome = ScanOutcome { projects, config, errors: Vec::new() };
        for half in halves.iter() {
            // If the run was cancelled or the gateway is away, the other half is not requested either.
            let is_over = outcome.errors.iter().any(|(_, error)| is_undelivered(error));
            let scanned = if is_over { None } else { Some(self.scan_half(half)) };
            let scan = match scanned {
                None => Scan::Owed,
                Some(Ok(())) => Scan::Done,
                Some(Err(error)) => {
                    let scan = if is_undelivered(&error) { Scan::Owed } else { Scan::Failed };
                    outcome.errors.push((half, error));
                    scan
                }
            };
            outcome.set(half, scan);
        }
        outcome
    }

    fn scan_half(&self, half: Half) -> Result<(), Error> {
        let before = match self.with_retry(|| self.scan_status(half, self.limits.call)) {
            Err(error) if is_undelivered(&error) || is_refusal(&error) => return Err(error),
            before => before,
        };
        // Asked for even if we will not know its end: the files are in place, and it lets the lock
        // go.
        let path = format!("/data/api/v1/scan/{half}");
        self.with_retry(|| self.client.post(&path)?.successful().map(drop))?;
        self.wait_for_scan(half, before?)
    }

    /// Asks again while the gateway says that it is busy, as long as the limits allow.
    pub(crate) fn with_retry<T>(
        &self,
        mut ask: impl FnMut() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let (started, mut pace) = (Instant::now(), Pace::new());
        loop {
            let error = match ask() {
                Err(error) if is_busy(&error) => error,
                done => return done,
            };
            let left = self.limits.gateway.saturating_sub(started.elapsed());
            if left.is_zero() {
                return Err(error);
            }
            self.client.pause(pace.next().min(left))?;
        }
    }

    fn wait_for_scan(&self, half: Half, before: Status) -> Result<(), Error> {
        let (started, mut pace) = (Instant::now(), Pace::new());
        loop {
            let left = self.limits.gateway.saturating_sub(started.elapsed());
            match self.scan_status(half, left.max(A_MOMENT)) {
                Ok(now) if now.is_after(before) => return Ok(()),
                Ok(_) => {}
                // A gateway that stumbles may still have scanned: ask again until the time is over.
                Err(error) if error.is_passing() => {}
                Err(error) => return Err(error),
            }
            if left.is_zero() {
                return Err(Error::ScanTimedOut { half, waited: started.elapsed() });
            }
            self.client.pause(pace.next().min(left))?;
        }
    }

    pub(crate) fn scan_status(&self, half: Half, left: Duration) -> Result<Status, Error> {
        let answer = self.client.get(&format!("/data/api/v1/scan/{half}"), Access::Key, left)?;
        let (call, value) = answer.json()?;
        let is_active = value["scanActive"].as_bool().unwrap_or(false);
        match value["lastScanTimestamp"].as_i64() {
            Some(timestamp) => Ok(Status { is_active, timestamp }),
            // A gateway that never scanned may have no timestamp.
            None if value.is_object() && value["lastScanTimestamp"].is_null() => {
                Ok(Status { is_active, timestamp: 0 })
            }
            None => Err(Error::Malformed { call, why: "it has no lastScanTimestamp" }),
        }
    }
}

impl Status {
    /// A scan is over when its timestamp is another one. Where one was running when we asked, the
    /// first change may be that one's: then it must also be quiet.
    fn is_after(self, before: Self) -> bool {
        self.timestamp != before.timestamp && !(before.is_active && self.is_active)
    }
}

/// No gateway received the request.
fn is_undelivered(error: &Error) -> bool {
    matches!(
        error.reason(),
        Reason::GatewayConnectionRefused
            | Reason::GatewayUnreachable
            | Reason::GatewayTimedOut
            | Reason::GatewayNeedsCommissioning
            | Reason::GatewayStarting
            | Reason::Cancelled
    )
}

/// The gateway responds, and will accept the request later.
fn is_busy(error: &Error) -> bool {
    matches!(error.reason(), Reason::GatewayStarting | Reason::GatewayTooManyRequests)
}

fn is_refusal(error: &Error) -> bool {
    matches!(error, Error::Unauthorized { .. } | Error::Forbidden { .. })
        || matches!(error.reason(), Reason::GatewayKeyMissing | Reason::GatewayKeyUnusable)
}

#[cfg(test)]
mod tests {
    use super::*;

    // The first tries come soon, the later ones once per period.
    #[test]
    fn an_owed_scan_is_tried_soon_and_then_every_period() {
        let period = Duration::from_secs(45);
        let pauses: Vec<u64> =
            (0..6).map(|attempt| retry_after(attempt, period).as_secs()).collect();
        assert_eq!(pauses, [5, 10, 30, 60, 45, 45]);
    }

    // Never by comparing clocks.
    #[test]
    fn a_scan_is_over_when_the_timestamp_is_another_one_later_or_not() {
        let status = |is_active, timestamp| Status { is_active, timestamp };
        assert!(status(false, 5).is_after(status(false, 9)));
        assert!(status(true, 10).is_after(status(false, 9)));
        assert!(!status(false, 9).is_after(status(false, 9)));
        assert!(
            !status(true, 10).is_after(status(true, 9)),
            "that may be the end of the earlier one"
        );
        assert!(status(false, 10).is_after(status(true, 9)));
    }

    #[test]
    fn pauses_grow_to_a_second() {
        let mut pace = Pace::new();
        let pauses: Vec<u128> = (0..8).map(|_| pace.next().as_millis()).collect();
        assert_eq!(pauses, [25, 50, 100, 200, 400, 800, 1000, 1000]);
    }
}
