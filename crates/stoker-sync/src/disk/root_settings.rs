//! Settings of a whole data directory: the owner of new files, and which links are followed.

use std::os::fd::OwnedFd;

use rustix::fs::{self, Gid, Uid};
use rustix::io::Errno;

use crate::path::{self, RelPath};

/// The settings of a data directory; all directories that are opened from it share them.
#[derive(Debug, Default)]
pub(super) struct RootSettings {
    /// Who gets what we make. None where it is ours anyway, or not ours to give.
    pub(super) owner: Option<Owner>,
    links: Vec<Link>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner {
    user: Uid,
    group: Gid,
}

/// A link that is followed, and the directory that it led to when it was opened.
#[derive(Debug)]
struct Link {
    path: RelPath,
    target: OwnedFd,
}

impl RootSettings {
    /// Returns the settings of an open data directory. Only root may give files to another user.
    pub(super) fn of(root: &OwnedFd) -> Self {
        let is_root = rustix::process::geteuid().is_root();
        let stat = fs::fstat(root).ok().filter(|_| is_root);
        let owner = stat.map(|stat| Owner {
            user: Uid::from_raw(stat.st_uid),
            group: Gid::from_raw(stat.st_gid),
        });
        let own = Owner { user: Uid::ROOT, group: rustix::process::getegid() };
        Self { owner: owner.filter(|owner| *owner != own), links: Vec::new() }
    }

    pub(super) fn follow(&mut self, path: RelPath, target: OwnedFd) {
        self.links.push(Link { path, target });
    }

    /// Returns where the innermost followed link between two directories leads, and what is left
    /// of the way from there.
    pub(super) fn target_on_the_way<'a>(
        &self,
        from: &[u8],
        to: &'a [u8],
    ) -> Option<(&OwnedFd, &'a [u8])> {
        let is_between =
            |link: &&Link| path::within(to, &link.path) && !path::within(from, &link.path);
        let link = self.links.iter().filter(is_between).max_by_key(|link| link.path.len())?;
        Some((&link.target, path::below(to, &link.path).unwrap_or_default()))
    }

    /// Returns where a link leads, if it is one that is followed.
    pub(super) fn target(&self, path: &[u8]) -> Option<&OwnedFd> {
        let link = self.links.iter().find(|link| link.path.as_bytes() == path);
        link.map(|link| &link.target)
    }

    pub(super) fn follows(&self) -> bool {
        !self.links.is_empty()
    }
}

impl Owner {
    /// Gives an open file or directory away. A volume, or a container without that right, may
    /// refuse: then it stays ours, which is better than no file.
    pub(super) fn give(self, made: &OwnedFd) -> rustix::io::Result<()> {
        match fs::fchown(made, Some(self.user), Some(self.group)) {
            Err(Errno::PERM | Errno::INVAL | Errno::NOTSUP) => Ok(()),
            done => done,
        }
    }
}
