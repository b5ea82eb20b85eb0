//! Visits directories in the order of their paths, with few system calls.

use crate::disk::{Dir, DiskError, FileType, Stat};
use crate::path;

/// The current directory.
///
/// The kernel follows no link on the way to the parent. The directory itself was looked at and is
/// not a link; if another process makes it one meanwhile, the result is wrong only until the next
/// check: nothing is written because of it.
pub(super) struct DirCursor<'a> {
    root: &'a Dir,
    /// The directory above the one we are in, open.
    parent: Option<Dir>,
    /// A path below the parent: the directory, a slash, and room for a name.
    way: Vec<u8>,
    directory: usize,
}

impl<'a> DirCursor<'a> {
    pub(super) fn new(root: &'a Dir) -> Self {
        Self { root, parent: None, way: Vec::new(), directory: 0 }
    }

    /// Goes to a directory and returns its stat; `None` if it is absent.
    pub(super) fn enter(&mut self, path: &[u8]) -> Result<Option<Stat>, DiskError> {
        if path.is_empty() {
            self.parent = None;
            self.way.clear();
            self.directory = 0;
            return self.root.stat_self().map(Some);
        }
        let above = path::parent(path);
        if self.parent.as_ref().is_none_or(|parent| parent.path().as_bytes() != above) {
            // Whatever is in the way, the directory is not where it should be.
            self.parent = self.root.open(above).ok();
        }
        let Some(parent) = &self.parent else { return Ok(None) };
        let name = path::file_name(path);
        self.way.clear();
        self.way.extend_from_slice(name);
        self.way.push(b'/');
        self.directory = self.way.len();
        let stat = parent.stat(name)?;
        Ok(stat.filter(|stat| stat.file_type == FileType::Dir))
    }

    pub(super) fn stat(&mut self, name: &[u8]) -> Result<Option<Stat>, DiskError> {
        self.way.truncate(self.directory);
        self.way.extend_from_slice(name);
        self.parent.as_ref().unwrap_or(self.root).stat(&self.way)
    }
}
