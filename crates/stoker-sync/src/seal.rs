//! Looks of directories that tell whether anything has come or gone since.
//!
//! A directory gets another time when an entry comes or goes, and a time of change that nobody can
//! set back. So a look at one that is known to hold what it should, taken when the clock of its
//! volume had moved on, proves later that it still does: without it, every drift check would list
//! every directory.

use std::io::ErrorKind;
use std::thread;
use std::time::Duration;

use crate::disk::{Dir, DiskError, Entry, Nature};
use crate::manifest::Manifest;
use crate::manifest::record::{DirChange, DirPatch, Seal};
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
    let look = dir.look_at_file(PROBE, &file)?;
    dir.unlink(PROBE)?;
    Ok(look.stat.modified)
}

/// Returns the latest time of these looks.
pub(crate) fn newest<'s>(seals: impl Iterator<Item = &'s Seal>) -> u64 {
    seals.map(|seal| seal.modified.max(seal.changed)).max().unwrap_or_default()
}

/// What renewing goes by.
pub(crate) struct Renewal<'a> {
    pub(crate) root: &'a Dir,
    pub(crate) state: &'a Dir,
    pub(crate) manifest: &'a Manifest,
}

impl Renewal<'_> {
    /// Looks at the directories of these patches whose look is not remembered, and remembers those
    /// that hold what they should. What can't be looked at is listed by the next drift check.
    pub(crate) fn run(&self, patches: &mut [DirPatch]) {
        let Ok(volume) = self.root.look_at_self().map(|look| look.device) else { return };
        let mut looks = Vec::new();
        for (place, patch) in patches.iter().enumerate() {
            if matches!(patch.change, DirChange::Known { seal: None, .. }) {
                let look = self.root.open(&patch.path).and_then(|dir| dir.look_at_self());
                // The clock of another volume may be another one.
                let look = look.ok().filter(|look| look.device == volume);
                looks.extend(look.map(|look| (place, look.seal())));
            }
        }
        let is_over = wait_beyond(newest(looks.iter().map(|(_, seal)| seal)), self.state);
        if !is_over.unwrap_or(false) {
            return;
        }
        for (place, look) in looks {
            let patch = &mut patches[place];
            if let DirChange::Known { seal, .. } = &mut patch.change
                && self.is_pure(&patch.path, look).unwrap_or(false)
            {
                *seal = Some(look);
            }
        }
    }

    /// Returns whether a directory holds what it should and has looked like this all the time.
    fn is_pure(&self, path: &RelPath, look: Seal) -> Result<bool, DiskError> {
        let dir = self.root.open(path)?;
        let record = self.manifest.dir(path).unwrap_or_default();
        let is_known = |entry: &Entry| match entry.nature {
            Nature::Dir => self.manifest.key(&path.join(&entry.name)).is_some(),
            Nature::File | Nature::Link | Nature::Special => record.file(&entry.name).is_some(),
        };
        Ok(dir.list()?.iter().all(is_known) && dir.look_at_self()?.seal() == look)
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
