//! What became of the gateway's scans.

use serde::{Serialize, Serializer};
use stoker_ignition::{Scan, ScanOutcome};
use stoker_sync::report::Halves;

/// What became of the gateway's scans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Scans {
    #[serde(serialize_with = "word")]
    pub(crate) projects: Scan,
    #[serde(serialize_with = "word")]
    pub(crate) config: Scan,
}

impl Default for Scans {
    fn default() -> Self {
        Self { projects: Scan::Skipped, config: Scan::Skipped }
    }
}

impl Scans {
    /// To be asked for by a later run.
    pub(in crate::cycle) const OWED: Self = Self { projects: Scan::Owed, config: Scan::Owed };

    pub(in crate::cycle) fn of(scanned: &ScanOutcome) -> Self {
        Self { projects: scanned.projects, config: scanned.config }
    }

    /// Owed for these halves; for the others what was done before in the same run.
    pub(in crate::cycle) fn owing(self, owed: Halves) -> Self {
        let scan = |before, is_owed| match (is_owed, before) {
            (true, _) => Scan::Owed,
            (false, Scan::Done) => Scan::Done,
            (false, _) => Scan::Skipped,
        };
        Self {
            projects: scan(self.projects, owed.projects),
            config: scan(self.config, owed.config),
        }
    }

    /// The same for the halves that it is about, skipped for the others.
    pub(in crate::cycle) fn limited_to(self, halves: Halves) -> Self {
        let keep = |scan, is_meant| if is_meant { scan } else { Scan::Skipped };
        Self {
            projects: keep(self.projects, halves.projects),
            config: keep(self.config, halves.config),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
fn word<S: Serializer>(scan: &Scan, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(scan.as_str())
}
