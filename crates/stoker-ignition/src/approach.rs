//! How a run goes about a gateway: with lock and scan, files only, or not at all.

use std::time::{Duration, Instant};

use crate::error::{Consequence, Error};
use crate::gateway::Gateway;
use crate::half::Half;
use crate::health::{A_MOMENT, Readiness};
use crate::scan::Scan;

/// Whether this data directory was ever synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// Nothing was ever synced: a gateway that starts will read what it finds.
    First,
    /// A gateway may already have loaded what was there before.
    Later,
}

/// What to do.
#[derive(Debug)]
pub enum Approach {
    /// The gateway is in service and takes our key: lock, rename, scan, verify.
    Scan,
    /// The files land without lock and scan.
    Land {
        /// `Skipped` ends well with a warning; `Owed` ends badly and is made up for by a later run.
        scan: Scan,
        /// What to tell the user.
        why: Error,
    },
}

impl Gateway {
    /// Asks whether the gateway is in service and takes our key, waiting for one that starts.
    ///
    /// An error means that nothing may be written. Whether the key may *write* shows only when the
    /// lock is taken, which is still before the first rename.
    pub fn approach(&self, run: Run) -> Result<Approach, Error> {
        self.approach_after(Duration::ZERO, run)
    }

    /// The same for a caller who has waited for this gateway before: one that starts gets what is
    /// left of its time.
    pub fn approach_after(&self, waited: Duration, run: Run) -> Result<Approach, Error> {
        let asked = Instant::now();
        let started = match (self.readiness(), run) {
            // What pings oddly may still serve the API: its answer to the key counts for more.
            (Readiness::Running | Readiness::Unknown(_), _) => Ok(()),
            (away @ Readiness::Unreachable(_), _) => away.in_service(Duration::ZERO),
            (early @ (Readiness::Starting | Readiness::NeedsCommissioning), Run::First) => {
                return match early.in_service(Duration::ZERO) {
                    Ok(()) => Ok(Approach::Scan),
                    Err(why) => Ok(Approach::Land { scan: Scan::Skipped, why }),
                };
            }
            (Readiness::Starting | Readiness::NeedsCommissioning, Run::Later) => {
                self.wait_until_running(waited)
            }
        };
        let left = self.limits.gateway.saturating_sub(asked.elapsed()).max(A_MOMENT);
        match started.and_then(|()| self.check_key_within(left)) {
            Ok(()) => Ok(Approach::Scan),
            Err(error) => match error.consequence() {
                Consequence::WriteNothing => Err(error),
                Consequence::ScanOwed => Ok(Approach::Land { scan: Scan::Owed, why: error }),
            },
        }
    }

    /// Asks for something harmless that needs the key.
    pub fn check_key(&self) -> Result<(), Error> {
        self.check_key_within(self.limits.call)
    }

    fn check_key_within(&self, left: Duration) -> Result<(), Error> {
        self.patiently(|| self.scan_status(Half::Projects, left)).map(drop)
    }
}
