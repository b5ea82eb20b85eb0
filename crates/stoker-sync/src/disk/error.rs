//! Errors of system calls on the data directory: which call, on which path.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;

use crate::path::RelPath;

/// A system call that failed, and on what.
#[derive(Debug, thiserror::Error)]
#[error("failed to {action} {}", self.place())]
pub struct DiskError {
    pub(super) action: &'static str,
    pub(super) path: RelPath,
    /// What the root is to people.
    pub(super) top: Arc<str>,
    pub(super) source: io::Error,
}

/// What the root of most directories is.
pub(super) const DATA: &str = "the data directory";

impl DiskError {
    /// A failure to get at the root itself, by the path that the user gave.
    pub(super) fn at_top(action: &'static str, path: &Path, source: io::Error) -> Self {
        let path = RelPath::from_clean(path.as_os_str().as_encoded_bytes());
        Self { action, path, top: DATA.into(), source }
    }

    /// The root has no name of its own.
    fn place(&self) -> String {
        if self.path.is_root() { self.top.to_string() } else { format!("{:?}", self.path) }
    }

    /// Returns the path below the data root.
    pub fn path(&self) -> &RelPath {
        &self.path
    }

    /// Returns what the system said.
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }

    /// Names the path that it is about, instead of a temporary one.
    pub(crate) fn about(self, path: &RelPath) -> Self {
        Self { path: path.clone(), ..self }
    }

    /// Returns the error of a path that was not tried because of this one.
    pub(crate) fn of_other(&self, path: &RelPath) -> Self {
        let source = match self.source.raw_os_error() {
            Some(number) => io::Error::from_raw_os_error(number),
            None => self.source.kind().into(),
        };
        Self { action: "go on to", path: path.clone(), top: Arc::clone(&self.top), source }
    }

    pub(crate) fn is(&self, errno: Errno) -> bool {
        self.source.raw_os_error() == Some(errno.raw_os_error())
    }

    /// Returns whether it can't be opened as a directory: absent, a link, or not permitted.
    pub(crate) fn is_out_of_reach(&self) -> bool {
        self.is_absence() || self.is(Errno::LOOP) || self.is(Errno::ACCESS)
    }

    /// Returns whether nothing is there, or its parent is not a directory.
    pub(crate) fn is_absence(&self) -> bool {
        self.is(Errno::NOENT) || self.is(Errno::NOTDIR)
    }
}
