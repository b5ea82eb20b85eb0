//! Checks the free space before files are written (A4, R81).

use std::collections::BTreeMap;

use crate::disk::{Dir, DiskError};
use crate::journal;
use crate::path::RelPath;
use crate::plan::{Put, Work};

/// What a file takes at least: file systems give out whole blocks.
const BLOCK: u64 = 4096;
/// What stays free for the journal, directories and the gateway itself.
const RESERVE: u64 = 1024 * 1024;

/// Why there is not enough space.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error(
        "{} has {free} bytes free and {needed} are needed: {} are missing",
        volume(place),
        .needed - .free
    )]
    Full {
        /// A directory on it.
        place: RelPath,
        /// What is needed, the reserve included.
        needed: u64,
        free: u64,
    },
    #[error("failed to ask for free space")]
    Ask { source: DiskError },
}

/// Checks that new files fit: all of them on the data volume, where they are written first, and on
/// any other one what is copied there.
pub(crate) fn check(root: &Dir, work: &Work) -> Result<(), Error> {
    fits(root, work.puts.iter().map(taken).sum::<u64>() + RESERVE)?;
    let ask = |source| Error::Ask { source };
    let own = root.stat_self().map_err(ask)?.device;
    let mut elsewhere: BTreeMap<u64, (Dir, u64)> = BTreeMap::new();
    let mut last: Option<(RelPath, u64)> = None;
    for put in &work.puts {
        let new_dir =
            journal::new_dir_of(&work.new_dirs, &put.path).map(|place| &work.new_dirs[place]);
        let place = new_dir.unwrap_or(&put.path).parent();
        if last.as_ref().is_none_or(|(last, _)| *last != place) {
            // What is not there by now will be made, on the volume of what is above it.
            let Ok(dir) = root.open(&place) else { continue };
            let device = dir.stat_self().map_err(ask)?.device;
            if device != own {
                elsewhere.entry(device).or_insert((dir, 0));
            }
            last = Some((place, device));
        }
        if let Some((_, needed)) = last.as_ref().and_then(|(_, at)| elsewhere.get_mut(at)) {
            *needed += taken(put);
        }
    }
    elsewhere.values().try_for_each(|(dir, needed)| fits(dir, *needed))
}

fn taken(put: &Put) -> u64 {
    put.size.next_multiple_of(BLOCK)
}

fn fits(dir: &Dir, needed: u64) -> Result<(), Error> {
    let free = dir.free_bytes().map_err(|source| Error::Ask { source })?;
    if needed > free {
        return Err(Error::Full { place: dir.path().clone(), needed, free });
    }
    Ok(())
}

fn volume(place: &RelPath) -> String {
    if place.is_root() { "the data volume".into() } else { format!("the volume of {place:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_that_is_too_small_says_what_is_missing() {
        let root = Dir::open_root(std::path::Path::new("/")).unwrap();
        let error = fits(&root, u64::MAX / 4).unwrap_err();
        assert!(error.to_string().starts_with("the data volume has "), "{error}");
        assert!(error.to_string().ends_with(" are missing"), "{error}");
        fits(&root, 1).unwrap();
    }
}
