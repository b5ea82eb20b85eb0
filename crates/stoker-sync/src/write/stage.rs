//! The staging directory and the places in it.

use std::collections::HashSet;

use crate::disk::{Dir, DiskError};
use crate::journal;
use crate::name::STAGING_DIR;
use crate::path::{self, RelPath};

/// The staging directory of a run.
#[derive(Debug)]
pub(crate) struct Stage {
    dir: Dir,
    grafts: Vec<RelPath>,
    /// Directories made so far, by their path within the stage.
    made: HashSet<RelPath>,
    /// The directory that was used last, by its path within the stage.
    open: Option<(RelPath, Dir)>,
}

impl Stage {
    /// Makes an empty stage for these new directories.
    pub(super) fn make(root: &Dir, grafts: &[RelPath]) -> Result<Self, DiskError> {
        Self::remove(root)?;
        let dir = root.make_dir(STAGING_DIR.as_bytes(), 0o700)?;
        Ok(Self { dir, grafts: grafts.to_vec(), made: HashSet::new(), open: None })
    }

    /// Removes the stage with all that is in it.
    pub(crate) fn remove(root: &Dir) -> Result<(), DiskError> {
        root.remove_tree(STAGING_DIR.as_bytes())
    }

    /// Returns where a file waits: an open directory of the stage and a name in it.
    pub(super) fn place(
        &mut self,
        number: u64,
        path: &RelPath,
    ) -> Result<(&Dir, Vec<u8>), DiskError> {
        let Some(graft) = journal::graft_of(&self.grafts, path) else {
            return Ok((&self.dir, journal::staged_file(number)));
        };
        let mut within = RelPath::from_clean(&journal::staged_dir(graft as u64));
        let parent = path.parent();
        within.push(path::below(&parent, &self.grafts[graft]).unwrap_or_default());
        let name = path::file_name(path).to_vec();
        Ok((self.open(within)?, name))
    }

    fn open(&mut self, within: RelPath) -> Result<&Dir, DiskError> {
        let dir = match self.open.take() {
            Some((open, dir)) if open == within => dir,
            _ => self.make_way(&within)?,
        };
        let (_, dir) = self.open.insert((within, dir));
        Ok(dir)
    }

    /// Makes a directory of the stage and those above it, as far as they are missing.
    fn make_way(&mut self, within: &RelPath) -> Result<Dir, DiskError> {
        let all: Vec<&[u8]> = path::ancestors(within).chain([within.as_bytes()]).collect();
        for way in all.into_iter().filter(|way| !way.is_empty()) {
            if !self.made.contains(&RelPath::from_clean(way)) {
                let parent = self.dir.open(path::parent(way))?;
                parent.make_dir(path::file_name(way), 0o755)?;
                self.made.insert(RelPath::from_clean(way));
            }
        }
        self.dir.open(within)
    }

    /// Makes the names in the stage durable, directory by directory, and its own name with them: a
    /// journal that outlives its stage would take all its files for placed.
    pub(super) fn sync_dirs(&self, root: &Dir) -> Result<(), DiskError> {
        for within in &self.made {
            self.dir.open(within)?.sync()?;
        }
        self.dir.sync()?;
        root.sync()
    }

    /// Makes everything in the stage durable at once.
    pub(super) fn sync_volume(&self) -> Result<(), DiskError> {
        self.dir.sync_volume()
    }
}
