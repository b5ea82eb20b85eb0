//! Stamps of directories: they show whether an entry was added or removed since.
//!
//! A directory's mtime changes with every entry, and no user can set its ctime back. So if a
//! directory is known to hold exactly what it should, and the volume's clock has moved on since, an
//! equal stamp proves later that it still does. Without stamps every drift check would list every
//! directory.

use std::io::ErrorKind;
use std::thread;
use std::time::Duration;

use crate::disk::{Dir, DirEntry, DiskError, FileType};
use crate::manifest::Manifest;
use crate::manifest::record::{DirChange, DirPatch, DirStamp};
use crate::path::RelPath;

/// A file that is made to see what time it gets.
const PROBE: &[u8] = b"tick";
/// How long to wait for the clock of the volume, and how often. A tick takes 1 to 10 ms.
const TICK: Duration = Duration::from_millis(1);
const PATIENCE: usize = 20;

/// Returns how many directories are worth sealing: fewer are listed as quickly as they are compared.
///
/// Tests have few, and what they claim must hold with seals. Only where steps are counted there are
/// none: to wait for a clock takes now more, now fewer of them.
pub(crate) fn worthwhile() -> usize {
    #[cfg(test)]
    if !crate::disk::fault::is_on() {
        return 1;
    }
    64
}

/// Waits until a change to the volume of `dir` would get a later time than `newest`: a change
/// within the same tick would not show. Returns whether that time has come.
pub(crate) fn wait_beyond(newest: u64, dir: &Dir) -> Result<bool, DiskError> {
    for _ in 0..PATIENCE {
        if tick(dir)? > newest {
            return Ok(true);
        }
        thread::sleep(TICK);
    }
    Ok(false)
}

/// Returns what time the volume would give to a change now.
fn tick(dir: &Dir) -> Result<u64, DiskError> {
    let file = match dir.create(PROBE, 0o600) {
        // A run that was killed left it.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            dir.unlink(PROBE)?;
            dir.create(PROBE, 0o600)?
        }
        file => file?,
    };
    let stat = dir.stat_file(PROBE, &file)?;
    dir.unlink(PROBE)?;
    Ok(stat.stamp.modified)
}

pub(crate) fn newest<'s>(stamps: impl Iterator<Item = &'s DirStamp>) -> u64 {
    stamps.map(|stamp| stamp.modified.max(stamp.changed)).max().unwrap_or_default()
}

pub(crate) struct Renewal<'a> {
    pub(crate) root: &'a Dir,
    pub(crate) state: &'a Dir,
    pub(crate) manifest: &'a Manifest,
}

impl Renewal<'_> {
    /// Stats the directories of these patches that have no stamp, and keeps the stamps of those
    /// that hold what they should. The next drift check lists the others.
    pub(crate) fn run(&self, patches: &mut [DirPatch]) {
        let Ok(volume) = self.root.stat_self().map(|stat| stat.device) else { return };
        let mut stamps = Vec::new();
        for (place, patch) in patches.iter().enumerate() {
            if matches!(patch.change, DirChange::Known { stamp: None, .. }) {
                let stat = self.root.open(&patch.path).and_then(|dir| dir.stat_self());
                // The clock of another volume may be another one.
                let stat = stat.ok().filter(|stat| stat.device == volume);
                stamps.extend(stat.map(|stat| (place, stat.dir_stamp())));
            }
        }
        let is_over = wait_beyond(newest(stamps.iter().map(|(_, stamp)| stamp)), self.state);
        if !is_over.unwrap_or(false) {
            return;
        }
        for (place, found) in stamps {
            let patch = &mut patches[place];
            if let DirChange::Known { stamp, .. } = &mut patch.change
                && self.is_pure(&patch.path, found).unwrap_or(false)
            {
                *stamp = Some(found);
            }
        }
    }

    /// Returns whether a directory holds what it should and has not changed meanwhile.
    fn is_pure(&self, path: &RelPath, stamp: DirStamp) -> Result<bool, DiskError> {
        let dir = self.root.open(path)?;
        let record = self.manifest.dir(path).unwrap_or_default();
        let is_known = |entry: &DirEntry| match entry.file_type {
            FileType::Dir => self.manifest.key(&path.join(&entry.name)).is_some(),
            FileType::File | FileType::Link | FileType::Special => {
                record.file(&entry.name).is_some()
            }
        };
        Ok(dir.list()?.iter().all(is_known) && dir.stat_self()?.dir_stamp() == stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scratch;

    #[test]
    fn the_clock_is_read_though_a_killed_run_left_its_file() {
        let scratch = Scratch::new();
        scratch.write("state/tick", "");
        let dir = Dir::open_root(&scratch.path("state")).unwrap();
        assert!(wait_beyond(0, &dir).unwrap());
        assert!(!wait_beyond(u64::MAX, &dir).unwrap());
        assert!(!scratch.exists("state/tick"));
    }
}
