//! stat and list.

use std::os::fd::AsFd;

use rustix::fs::{self, AtFlags, RawDir};
use rustix::io::Errno;

use super::fault::CallKind;
use super::{Dir, Result};
use crate::manifest::record::{DirStamp, FileStamp};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileType {
    File,
    Dir,
    Link,
    /// A pipe, a socket or a device.
    Special,
}

/// Whether the volume keeps permission bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Modes {
    /// The volume keeps what a file is given.
    Kept,
    /// The volume shows the same for all files, whatever they are given: SMB shares do.
    Fixed,
}

/// The stat of a path, links not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) file_type: FileType,
    pub(crate) modes: Modes,
    /// The permission bits, setuid and its like included.
    pub(crate) mode: u32,
    pub(crate) stamp: FileStamp,
    /// When it was touched in any way, in nanoseconds since 1970.
    pub(crate) changed: u64,
    pub(crate) device: u64,
    pub(crate) owner: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DirEntry {
    pub(crate) name: Box<[u8]>,
    pub(crate) file_type: FileType,
}

impl FileType {
    /// Reads the nature from the mode of a stat.
    pub(crate) fn of(mode: u32) -> Self {
        Self::from_type(fs::FileType::from_raw_mode(mode))
    }

    fn from_type(kind: fs::FileType) -> Self {
        match kind {
            fs::FileType::RegularFile => Self::File,
            fs::FileType::Directory => Self::Dir,
            fs::FileType::Symlink => Self::Link,
            _ => Self::Special,
        }
    }
}

impl Stat {
    fn of(stat: &fs::Stat, modes: Modes) -> Self {
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        let modified = nanoseconds(stat.st_mtime, stat.st_mtime_nsec);
        Self {
            file_type: FileType::of(stat.st_mode),
            modes,
            mode: stat.st_mode & 0o7777,
            stamp: FileStamp { size, modified, inode: stat.st_ino },
            changed: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
            device: stat.st_dev,
            owner: stat.st_uid,
        }
    }

    /// Returns the stamp of a directory, to compare with later.
    pub(crate) fn dir_stamp(&self) -> DirStamp {
        DirStamp { modified: self.stamp.modified, changed: self.changed, inode: self.stamp.inode }
    }

    /// Returns whether the permissions are those that git means. The group may have more: the
    /// kubelet sets its bits for a pod's fsGroup. Nobody may have less, or the gateway could not
    /// read what it needs, and others may not write. Where modes can't be chosen, all are accepted.
    pub(crate) fn is_mode_of(&self, is_executable: bool) -> bool {
        if self.modes == Modes::Fixed {
            return true;
        }
        let (least, never) = if is_executable { (0o755, 0o7002) } else { (0o644, 0o7103) };
        self.mode & least == least && self.mode & never == 0
    }

    /// Returns whether this user may give it another mode.
    pub(crate) fn may_be_chmoded_by(&self, user: u32) -> bool {
        user == 0 || user == self.owner
    }

    /// Returns what a file that was to be ours alone says about its volume.
    pub(crate) fn modes_shown(&self) -> Modes {
        // The group's bits say nothing: the kubelet sets them.
        if self.mode & 0o007 != 0 { Modes::Fixed } else { Modes::Kept }
    }

    pub(crate) fn is_readable(&self) -> bool {
        self.mode & 0o400 != 0
    }

    pub(crate) fn is_executable(&self) -> bool {
        self.mode & 0o100 != 0
    }
}

/// Gives a file or a directory that we made a mode. Its maker is refused that only by a volume that
/// has no modes to give; the modes that it shows are ignored.
pub(super) fn give_mode(ours: impl AsFd, mode: u32) -> rustix::io::Result<()> {
    match fs::fchmod(ours, fs::Mode::from_raw_mode(mode)) {
        Err(Errno::PERM) => Ok(()),
        done => done,
    }
}

fn nanoseconds(seconds: i64, rest: u64) -> u64 {
    let seconds = u64::try_from(seconds).unwrap_or_default();
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

impl Dir {
    pub(crate) fn stat_self(&self) -> Result<Stat> {
        self.at(b"", "stat", fs::fstat(&self.fd)).map(|stat| Stat::of(&stat, self.modes))
    }

    /// Looks at one entry; `None` if it is not there.
    pub(crate) fn stat(&self, name: &[u8]) -> Result<Option<Stat>> {
        if let Some(target) = self.followed(name) {
            let stat = self.at(name, "stat", fs::fstat(target))?;
            return Ok(Some(Stat::of(&stat, self.modes)));
        }
        match fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Stat::of(&stat, self.modes))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(errno) => self.at(name, "stat", Err(errno)),
        }
    }

    /// Returns where an entry leads, if it is a link that is followed.
    fn followed(&self, name: &[u8]) -> Option<&std::os::fd::OwnedFd> {
        if !self.settings.follows() {
            return None;
        }
        self.settings.target(&self.path.join(name))
    }

    /// Looks at one entry that must be there.
    pub(crate) fn stat_present(&self, name: &[u8]) -> Result<Stat> {
        let stat = self.stat(name)?;
        self.at(name, "find", stat.ok_or(Errno::NOENT))
    }

    pub(crate) fn stat_file(&self, name: &[u8], file: &std::fs::File) -> Result<Stat> {
        self.at(name, "stat", fs::fstat(file)).map(|stat| Stat::of(&stat, self.modes))
    }

    /// Sets the mode of an open file of this directory, if it has another. Returns its stat
    /// then, which may be as before: not every volume keeps modes.
    pub(crate) fn correct_file_mode(
        &self,
        name: &[u8],
        file: &std::fs::File,
        wanted: u32,
    ) -> Result<Stat> {
        let stat = self.stat_file(name, file)?;
        if stat.mode == wanted {
            return Ok(stat);
        }
        let call = self.call(CallKind::Chmod, name);
        self.change(call, "set the mode of", || give_mode(file, wanted))?;
        self.stat_file(name, file)
    }

    /// Returns the entries of this directory, unsorted. No two threads may list the same open
    /// directory: they would share its position.
    pub(crate) fn list(&self) -> Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        let mut buffer = Vec::with_capacity(32 * 1024);
        self.at(b"", "list", fs::seek(&self.fd, fs::SeekFrom::Start(0)).map(drop))?;
        let mut raw = RawDir::new(&self.fd, buffer.spare_capacity_mut());
        while let Some(entry) = raw.next() {
            let entry = self.at(b"", "list", entry)?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let file_type = match entry.file_type() {
                fs::FileType::Symlink if self.followed(name).is_some() => FileType::Dir,
                fs::FileType::Unknown => {
                    self.stat(name)?.map_or(FileType::Special, |stat| stat.file_type)
                }
                known => FileType::from_type(known),
            };
            entries.push(DirEntry { name: name.into(), file_type });
        }
        Ok(entries)
    }

    /// Returns where a link points, as it is written.
    pub(crate) fn read_link(&self, name: &[u8]) -> Result<Vec<u8>> {
        let target = self.at(name, "read the link", fs::readlinkat(&self.fd, name, Vec::new()))?;
        Ok(target.into_bytes())
    }

    /// Returns how many bytes are free for us on this directory's volume. One that does not count
    /// its blocks has no end.
    pub(crate) fn free_bytes(&self) -> Result<u64> {
        let volume = self.at(b"", "ask for the free space of", fs::fstatvfs(&self.fd))?;
        let is_counted = volume.f_blocks > 0;
        Ok(if is_counted { volume.f_bavail.saturating_mul(volume.f_frsize) } else { u64::MAX })
    }
}
