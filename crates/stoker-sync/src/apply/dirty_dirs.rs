//! Collects directories whose entries changed, and fsyncs them together.

use std::collections::{BTreeMap, BTreeSet};

use rustix::io::Errno;

use crate::disk::{Dir, DiskError};
use crate::path::RelPath;

/// Up to so many directories are made durable one by one; beyond, their volumes are.
const FEW: usize = 16;

/// Directories, and an open one of each volume that they may be on.
#[derive(Debug, Default)]
pub(super) struct DirtyDirs {
    dirs: BTreeSet<RelPath>,
    volumes: BTreeMap<u64, Dir>,
}

impl DirtyDirs {
    pub(super) fn add(&mut self, directory: &RelPath) {
        if !self.dirs.contains(directory) {
            self.dirs.insert(directory.clone());
        }
    }

    pub(super) fn add_open(&mut self, directory: &Dir) {
        self.add(directory.path());
        self.note_volume(directory);
    }

    /// Remembers the volume of a directory: other volumes may be mounted below the data directory.
    pub(super) fn note_volume(&mut self, directory: &Dir) {
        let Ok(stat) = directory.stat_self() else { return };
        if !self.volumes.contains_key(&stat.device)
            && let Ok(open) = directory.open(b"")
        {
            self.volumes.insert(stat.device, open);
        }
    }

    pub(super) fn append(&mut self, mut other: Self) {
        self.dirs.append(&mut other.dirs);
        self.volumes.append(&mut other.volumes);
    }

    /// Makes all of it durable.
    pub(super) fn sync(mut self, root: &Dir) -> Result<(), DiskError> {
        if self.dirs.len() > FEW {
            self.note_volume(root);
            return self.volumes.values().try_for_each(Dir::sync_volume);
        }
        for path in &self.dirs {
            match root.open(path) {
                Ok(dir) => dir.sync()?,
                // Removed by a later step, or replaced by another process: its parent is dirty, too.
                Err(error) if error.is_absence() || error.is(Errno::LOOP) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
