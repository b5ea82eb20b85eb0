//! What a run will do, as a value: writes, deletes, modes, and why.
//!
//! Planning reads the source, the manifest and the live paths that change, and writes nothing; a
//! dry run ends here. `draft.rs` compares the wanted files with the last sync, `decide.rs` compares
//! the result with the disk, `limit.rs` stops a run that would delete too much.

pub(crate) mod decide;
pub(crate) mod draft;
mod limit;

use std::collections::BTreeSet;

use crate::cancel::Cancelled;
use crate::disk::DiskError;
use crate::manifest::header::Header;
use crate::manifest::record::DirPatch;
use crate::manipulate::{self, Transform};
use crate::path::RelPath;
use crate::report::Listed;
use crate::request::Request;
use crate::source::{self, ObjectId};
use crate::warning::Warning;
use crate::{compose, drift};

pub use limit::MassDeletion;

/// Everything a run will do.
#[derive(Debug)]
pub struct Plan {
    /// The changes, sorted by path.
    pub changes: Vec<Change>,
    /// How many files stay as they are.
    pub unchanged: u64,
    /// What people should know.
    pub warnings: Vec<Warning>,
    /// Files that were changed on the gateway since the last sync.
    pub drift: Vec<Drifted>,
    /// Files in owned directories that no sync brought and that are kept.
    pub foreign_kept: Listed,
    /// A mass deletion that was left out, where the request says so.
    pub withheld: Option<MassDeletion>,
    /// The commit of the last sync, if there was one.
    pub previous_commit: Option<String>,
    pub(crate) request: Request,
    pub(crate) work: Work,
}

/// One change to the data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Where, below the data root.
    pub path: RelPath,
    /// What.
    pub action: Action,
    /// The size of the new content; 0 for deletions and modes.
    pub bytes: u64,
    /// The position of the mapping that it comes or goes by, if one of this request is it.
    pub mapping: Option<usize>,
    /// The path in the source; of a file that goes, where the source had it. None for a file that
    /// no sync brought.
    pub source: Option<RelPath>,
}

/// What happens to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// A file that was not there.
    Add,
    /// Other bytes.
    Modify,
    /// It goes.
    Delete,
    /// Other permissions.
    Mode,
}

/// A file that was changed on the gateway.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Drifted {
    /// Where, below the data root.
    pub path: RelPath,
    /// How it differs.
    pub kind: DriftKind,
}

/// How a live file differs from what the last sync left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DriftKind {
    /// It is gone.
    Missing,
    /// It has other bytes or permissions.
    Modified,
    /// No sync brought it.
    Foreign,
}

/// What the next steps need of a plan.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Sorted by path.
    pub(crate) puts: Vec<Put>,
    /// Directories that are not there and are moved into place whole, sorted.
    pub(crate) new_dirs: Vec<RelPath>,
    /// Directories that make way for files; nothing in them outlives `deletes`.
    pub(crate) clears: Vec<RelPath>,
    pub(crate) deletes: BTreeSet<RelPath>,
    /// Those of them that are foreign.
    pub(crate) orphans: BTreeSet<RelPath>,
    pub(crate) chmods: Vec<(RelPath, bool)>,
    /// What is there under names of another case, on a volume that takes them for the same.
    pub(crate) case_renames: BTreeSet<RelPath>,
    /// Directories that may be empty afterwards, deepest first.
    pub(crate) empties: Vec<RelPath>,
    /// Sorted by path. The stats of puts are not in them yet.
    pub(crate) patches: Vec<DirPatch>,
    pub(crate) header: Option<Header>,
}

#[derive(Debug)]
pub(crate) struct Put {
    pub(crate) path: RelPath,
    pub(crate) blob: ObjectId,
    /// The id that its bytes must have.
    pub(crate) placed: ObjectId,
    pub(crate) is_executable: bool,
    pub(crate) size: u64,
    /// How its bytes are made from the blob, if they are not the blob's.
    pub(crate) transform: Option<Transform>,
    /// Where its record is: patch, and record within it.
    pub(crate) slot: (usize, usize),
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("failed to compose the mapped files")]
    Compose { source: compose::Error },
    #[error("failed to check for drift")]
    Drift { source: drift::Error },
    #[error("failed to check the paths that change")]
    Survey { source: DiskError },
    #[error("failed to render or patch {path:?}")]
    Transform { path: RelPath, source: manipulate::Error },
    #[error("failed to fetch the changed files")]
    Fetch { source: source::Error },
    #[error("{wanted} should be at {path:?}, where {found}")]
    Conflict { path: RelPath, wanted: &'static str, found: &'static str },
    #[error("{path:?} is a symbolic link, and links are not followed")]
    Link { path: RelPath },
    #[error(
        "the last run brought files from {last:?}, this one is from {now:?}: {files} of those \
         files would be deleted"
    )]
    OtherRepository { last: String, now: String, files: u64 },
    #[error(transparent)]
    MassDeletion(MassDeletion),
    #[error(transparent)]
    Cancelled(Cancelled),
}

impl Plan {
    /// Returns whether there is nothing to do at all, not even to remember.
    pub fn is_noop(&self) -> bool {
        self.work.header.is_none()
    }

    /// Returns how many bytes the new files have.
    pub fn bytes(&self) -> u64 {
        self.changes.iter().map(|change| change.bytes).sum()
    }
}
