//! Why new files could not be written.

use crate::cancel::Cancelled;
use crate::disk::DiskError;
use crate::path::RelPath;
use crate::source::{self, ObjectId};
use crate::{manipulate, space};

/// Why nothing was written. The live tree is as it was.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("there is no room for the new files")]
    Space { source: space::Error },
    #[error("failed to write new files")]
    Disk { source: DiskError },
    #[error("failed to read the changed files")]
    Read { source: source::Error },
    #[error("failed to read the content of {path:?}")]
    Stream { path: RelPath, source: std::io::Error },
    #[error("the content of {path:?} is not blob {wanted}, but {found}")]
    Corrupt { path: RelPath, wanted: ObjectId, found: ObjectId },
    #[error("{}", name_pointers(.paths))]
    LfsPointers {
        /// The destinations, sorted.
        paths: Vec<RelPath>,
    },
    #[error("failed to render or patch {path:?}")]
    Transform { path: RelPath, source: manipulate::Error },
    /// The last run of this engine broke off after it had begun to change files.
    #[error("the last run has to be finished first: open the data directory again")]
    Unfinished,
    #[error(transparent)]
    Cancelled(Cancelled),
}

const MOST_NAMED: usize = 100;

fn name_pointers(paths: &[RelPath]) -> String {
    if let [path] = paths {
        return format!("{path:?} is a Git LFS pointer, not the file itself");
    }
    let names: Vec<_> = paths.iter().take(MOST_NAMED).map(|path| format!("{path:?}")).collect();
    let more = match paths.len() - names.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (count, names) = (paths.len(), names.join(", "));
    format!("{count} files are Git LFS pointers, not the files themselves: {names}{more}")
}

impl Error {
    pub(super) fn reading(source: source::Error) -> Self {
        match source {
            source::Error::Cancelled => Self::Cancelled(Cancelled),
            source => Self::Read { source },
        }
    }
}
