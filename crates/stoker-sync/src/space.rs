//! Whether there is room for what is about to be written (A4, R81).

use crate::disk::{Dir, DiskError};

/// What a file takes at least: file systems give out whole blocks.
const BLOCK: u64 = 4096;
/// What stays free for the journal, directories and the gateway itself.
const RESERVE: u64 = 1024 * 1024;

/// Why there is no room.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The volume is too full.
    #[error(
        "the data volume has {free} bytes free and {needed} are needed: {} are missing",
        .needed - .free
    )]
    Full {
        /// What is needed, the reserve included.
        needed: u64,
        /// What is free.
        free: u64,
    },
    /// The volume would not say.
    #[error("failed to ask for free space")]
    Ask {
        /// What the system said.
        source: DiskError,
    },
}

/// Checks that files of these sizes fit on the volume.
pub(crate) fn check(root: &Dir, sizes: impl Iterator<Item = u64>) -> Result<(), Error> {
    let needed = sizes.map(|size| size.next_multiple_of(BLOCK)).sum::<u64>() + RESERVE;
    let free = root.free_bytes().map_err(|source| Error::Ask { source })?;
    if needed > free { Err(Error::Full { needed, free }) } else { Ok(()) }
}
