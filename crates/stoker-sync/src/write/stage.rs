//! The staging directory and the paths in it.

use std::collections::BTreeMap;

use crate::dir_stamp;
use crate::disk::{Dir, DiskError};
use crate::journal;
use crate::manifest::record::DirStamp;
use crate::path::{self, RelPath};
use crate::reserved::STAGING_DIR;

#[derive(Debug)]
pub(crate) struct Stage {
    dir: Dir,
    new_dirs: Vec<RelPath>,
    /// The way to the directory that was used last, open, from the new directory down.
    way: Vec<Dir>,
    /// The live path of the directory that was used last, and which new one it is in.
    last: Option<(RelPath, usize)>,
    /// Directories made so far, by their path from the data root.
    made: Vec<RelPath>,
    /// The stamps of directories within new ones, by their live path.
    stamps: BTreeMap<RelPath, DirStamp>,
}

impl Stage {
    /// Makes an empty stage for these new directories.
    pub(super) fn make(root: &Dir, new_dirs: &[RelPath]) -> Result<Self, DiskError> {
        Self::remove(root)?;
        let dir = root.make_dir(STAGING_DIR.as_bytes(), 0o700)?;
        Ok(Self {
            dir,
            new_dirs: new_dirs.to_vec(),
            way: Vec::new(),
            last: None,
            made: Vec::new(),
            stamps: BTreeMap::new(),
        })
    }

    pub(crate) fn remove(root: &Dir) -> Result<(), DiskError> {
        root.remove_tree(STAGING_DIR.as_bytes())
    }

    /// Returns where a file waits: an open directory of the stage and a name in it.
    pub(super) fn place(
        &mut self,
        number: u64,
        path: &RelPath,
    ) -> Result<(&Dir, Vec<u8>), DiskError> {
        let parent = path::parent(path);
        if self.last.as_ref().is_none_or(|(last, _)| last.as_bytes() != parent) {
            let Some(new_dir) = journal::new_dir_of(&self.new_dirs, path) else {
                return Ok((&self.dir, journal::staged_file(number)));
            };
            self.enter(parent, new_dir)?;
        }
        let dir = self.way.last().unwrap_or(&self.dir);
        Ok((dir, path::file_name(path).to_vec()))
    }

    /// Goes to a directory within a new one; those on the way are made where they are missing.
    fn enter(&mut self, directory: &[u8], new_dir: usize) -> Result<(), DiskError> {
        let mut names = vec![journal::staged_dir(new_dir as u64)];
        let below = path::below(directory, &self.new_dirs[new_dir]).unwrap_or_default();
        names.extend(
            below.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).map(Vec::from),
        );
        let is_open =
            |(dir, name): &(&Dir, &Vec<u8>)| path::file_name(dir.path()) == name.as_slice();
        let common = self.way.iter().zip(&names).take_while(is_open).count();
        self.leave(common)?;
        for name in &names[common..] {
            let parent = self.way.last().unwrap_or(&self.dir);
            let dir = parent.make_or_open_dir(name, 0o755)?;
            self.made.push(dir.path().clone());
            self.way.push(dir);
        }
        self.last = Some((RelPath::from_clean(directory), new_dir));
        Ok(())
    }

    /// Leaves all directories on the way but the first `kept`, and keeps their stamps. The
    /// outermost new one changes when it is moved, so its stamp says nothing.
    fn leave(&mut self, kept: usize) -> Result<(), DiskError> {
        let Some((directory, new_dir)) = self.last.take() else { return Ok(()) };
        let mut live = directory.as_bytes();
        while self.way.len() > kept {
            let Some(dir) = self.way.pop() else { break };
            if live != self.new_dirs[new_dir].as_bytes() {
                self.stamps.insert(RelPath::from_clean(live), dir.stat_self()?.dir_stamp());
                live = path::parent(live);
            }
        }
        Ok(())
    }

    /// Returns the stamps of the directories within new ones, so that a later check can see whether
    /// anything has come or gone. Nothing, if there are few: then it costs nothing to list them.
    ///
    /// Nobody else has seen them yet, so they hold what they should.
    pub(super) fn dir_stamps(&mut self) -> Result<BTreeMap<RelPath, DirStamp>, DiskError> {
        self.leave(0)?;
        let mut stamps = std::mem::take(&mut self.stamps);
        let is_worth_it = stamps.len() >= dir_stamp::worthwhile();
        if !is_worth_it || !dir_stamp::wait_beyond(dir_stamp::newest(stamps.values()), &self.dir)? {
            stamps.clear();
        }
        Ok(stamps)
    }

    /// Makes the names in the stage durable, directory by directory, and its own name with them: a
    /// journal that outlives its stage would take all its files for placed.
    pub(super) fn sync_dirs(&self, root: &Dir) -> Result<(), DiskError> {
        for path in &self.made {
            root.open(path)?.sync()?;
        }
        self.dir.sync()?;
        root.sync()
    }

    /// Makes everything in the stage durable at once.
    pub(super) fn sync_volume(&self) -> Result<(), DiskError> {
        self.dir.sync_volume()
    }
}
