//! Decides how a run treats the gateway: with lock and scan, files only, or not at all.

use std::time::{Duration, Instant};

use stoker_sync::Half;

use crate::error::{Consequence, Error};
use crate::gateway::Gateway;
use crate::health::{A_MOMENT, Readiness};
use crate::scan::Scan;

/// Whether this data directory was ever synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataDirectory {
    /// Nothing was ever synced: a gateway that starts will read what it finds.
    New,
    /// A gateway may already have loaded what was there before.
    Synced,
}

/// What to do.
#[derive(Debug)]
pub enum Preflight {
    /// The gateway is in service and takes our key: lock, rename, scan, verify.
    Scan,
    /// The files land without lock and scan.
    FilesOnly {
        /// `Skipped` ends well with a warning; `Owed` ends badly and is made up for by a later run.
        scan: Scan,
        /// What the user should know.
        why: Error,
    },
}

impl Gateway {
    /// Asks whether the gateway is in service and takes our key, waiting for one that starts. A
    /// caller who has waited for it before has what is left of its time.
    ///
    /// An error means that nothing may be written. Whether the key may *write* shows only when the
    /// lock is taken, which is still before the first rename.
    pub fn preflight(&self, waited: Duration, data: DataDirectory) -> Result<Preflight, Error> {
        // A key that can't be used is reported before anything is written, though the gateway may
        // not respond.
        self.client.check_key_file()?;
        let asked = Instant::now();
        let started = match (self.readiness(), data) {
            // A gateway with an odd ping may still serve the API: its response to the key decides.
            (Readiness::Running | Readiness::Unknown(_), _) => Ok(()),
            (away @ Readiness::Unreachable(_), _) => away.in_service(Duration::ZERO),
            (early @ (Readiness::Starting | Readiness::NeedsCommissioning), DataDirectory::New) => {
                return match early.in_service(Duration::ZERO) {
                    Ok(()) => Ok(Preflight::Scan),
                    Err(why) => Ok(Preflight::FilesOnly { scan: Scan::Skipped, why }),
                };
            }
            (Readiness::Starting | Readiness::NeedsCommissioning, DataDirectory::Synced) => {
                self.wait_until_running(waited)
            }
        };
        let left = self.limits.gateway.saturating_sub(asked.elapsed()).max(A_MOMENT);
        // Asks for something harmless that needs the key.
        let key = || self.with_retry(|| self.scan_status(Half::Projects, left)).map(drop);
        judge(started.and_then(|()| key()))
    }

    /// The same for a caller who comes back later by itself: a gateway that starts, is not
    /// commissioned or does not listen is not waited for. Its scan is owed, on the first run too. A
    /// key that can't be used does not keep the files from it, and is what is said to be wrong.
    pub fn preflight_at_once(&self) -> Result<Preflight, Error> {
        let started = match self.readiness() {
            Readiness::Unknown(_) => Ok(()),
            readiness => readiness.in_service(Duration::ZERO),
        };
        let key = || self.scan_status(Half::Projects, self.limits.call).map(drop);
        let mut preflight = judge(started.and_then(|()| key()))?;
        if let Preflight::FilesOnly { why, .. } = &mut preflight
            && let Err(error) = self.client.check_key_file()
        {
            *why = error;
        }
        Ok(preflight)
    }
}

/// An error that lets the files land makes the scan owed; any other refuses.
fn judge(ready: Result<(), Error>) -> Result<Preflight, Error> {
    match ready {
        Ok(()) => Ok(Preflight::Scan),
        Err(error) => match error.consequence() {
            Consequence::WriteNothing => Err(error),
            Consequence::ScanOwed => Ok(Preflight::FilesOnly { scan: Scan::Owed, why: error }),
        },
    }
}
