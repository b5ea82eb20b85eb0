//! Every system call on the data directory: directories are held by descriptor, one function per
//! call.
//!
//! Promise (A9): a path is opened below the data root and no symbolic link on the way is followed,
//! either by the kernel (`openat2`) or one component at a time. All other functions take a name in
//! an open directory, so that a concurrent rename can't redirect a call.
//!
//! Long: a registry, one small function per system call; two doors would be two places to check.

mod error;
pub(crate) mod fault;
mod open;
mod root_settings;
mod stat;

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{self, AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::path::{self, Quoted, RelPath};
use error::DATA;
pub use error::DiskError;
use fault::{Call, CallKind};
use root_settings::RootSettings;
pub(crate) use stat::{DirEntry, FileType, Modes, Stat};

/// An open directory at or below the data root.
#[derive(Debug)]
pub(crate) struct Dir {
    fd: OwnedFd,
    path: RelPath,
    /// What errors call the root: what it is for, and its path.
    top: Arc<str>,
    modes: Modes,
    settings: Arc<RootSettings>,
}

pub(crate) fn read_at(file: &File, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}

pub(crate) fn size(file: &File) -> io::Result<u64> {
    file.metadata().map(|found| found.len())
}

/// Makes the data directory and those above it, if they are missing.
pub(crate) fn create_root(path: &Path) -> std::result::Result<(), DiskError> {
    // Without a dot at its end, which has no directory above it.
    let path: PathBuf = path.components().collect();
    make_all(&path)
        .map_err(|errno| DiskError::at_top("create the data directory", &path, errno.into()))
}

/// Makes a directory and those above it. Whatever the umask, others can read and not write.
fn make_all(path: &Path) -> rustix::io::Result<()> {
    const MODE: u32 = 0o755;
    let mut made = fs::mkdir(path, MODE.into());
    if let (Err(Errno::NOENT), Some(above)) = (made, path.parent()) {
        make_all(above)?;
        made = fs::mkdir(path, MODE.into());
    }
    match made {
        Err(_) if path.is_dir() => Ok(()),
        Err(errno) => Err(errno),
        Ok(()) => set_mode(&fs::open(path, open::DIRECTORY, Mode::empty())?, MODE, || Ok(())),
    }
}

/// Gives an open directory this mode, if it has another; what it inherits from its parent stays.
fn set_mode(
    fd: &OwnedFd,
    mode: u32,
    before: impl FnOnce() -> rustix::io::Result<()>,
) -> rustix::io::Result<()> {
    let has = fs::fstat(fd)?.st_mode;
    if has & 0o777 == mode {
        return Ok(());
    }
    before()?;
    stat::give_mode(fd, (has & 0o7000) | mode)
}

type Result<T> = std::result::Result<T, DiskError>;

/// Returns what errors call a root.
fn named(name: &str, path: &Path) -> Arc<str> {
    format!("{name} {}", Quoted(path.as_os_str().as_encoded_bytes())).into()
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

impl Dir {
    /// Opens the data root. Links in its own path are followed: the administrator set them.
    pub(crate) fn open_root(path: &Path) -> Result<Self> {
        let fd = fs::open(path, open::DIRECTORY, Mode::empty());
        let fd =
            fd.map_err(|errno| DiskError::at_top("open the data directory", path, errno.into()))?;
        let settings = Arc::new(RootSettings::of(&fd));
        Ok(Self { fd, path: RelPath::root(), top: named(DATA, path), modes: Modes::Kept, settings })
    }

    /// Opens a directory that is a root of its own, and is called this.
    pub(crate) fn open_top(path: &Path, name: &str) -> Result<Self> {
        let fd = fs::open(path, open::DIRECTORY, Mode::empty());
        let fd = fd.map_err(|errno| DiskError::at_top("open", path, errno.into()))?;
        let (top, settings) = (named(name, path), Arc::default());
        Ok(Self { fd, path: RelPath::root(), top, modes: Modes::Kept, settings })
    }

    /// Sets what permission bits mean in this directory and in all that are opened from it.
    pub(crate) fn with_modes(self, modes: Modes) -> Self {
        Self { modes, ..self }
    }

    pub(crate) fn modes(&self) -> Modes {
        self.modes
    }

    /// Follows these links from here on, and no others. Each must lead to a directory; one that is
    /// not there yet, or is a directory by now, needs no following.
    pub(crate) fn following(self, links: &[RelPath]) -> Result<Self> {
        let mut settings = RootSettings::of(&self.fd);
        for link in links {
            let parent = match self.open(path::parent(link)) {
                Err(error) if error.is_absence() => continue,
                parent => parent?,
            };
            let name = path::file_name(link);
            if parent.stat(name)?.is_some_and(|stat| stat.file_type == FileType::Link) {
                let target = fs::openat(&parent.fd, name, open::DIRECTORY, Mode::empty());
                settings.follow(link.clone(), parent.at(name, "follow the link", target)?);
            }
        }
        Ok(Self { settings: Arc::new(settings), ..self })
    }

    /// Opens a directory below this one, no link on the way but those that are followed.
    pub(crate) fn open(&self, below: &[u8]) -> Result<Self> {
        let path = self.path.join(below);
        let opened = match self.settings.target_on_the_way(&self.path, &path) {
            Some((target, rest)) => open::beneath(target, rest),
            None => open::beneath(&self.fd, below),
        };
        match opened {
            Ok(fd) => {
                let (top, settings) = (Arc::clone(&self.top), Arc::clone(&self.settings));
                Ok(Self { fd, path, top, modes: self.modes, settings })
            }
            Err(errno) => self.at(below, "open", Err(errno)),
        }
    }

    /// Returns where this directory is, below the data root.
    pub(crate) fn path(&self) -> &RelPath {
        &self.path
    }

    fn call<'a>(&'a self, kind: CallKind, name: &'a [u8]) -> Call<'a> {
        Call { kind, dir: &self.path, name, to: None, bytes: b"" }
    }

    fn at<T>(&self, name: &[u8], action: &'static str, done: rustix::io::Result<T>) -> Result<T> {
        done.map_err(|errno| {
            let (path, top) = (self.path.join(name), Arc::clone(&self.top));
            DiskError { action, path, top, source: errno.into() }
        })
    }

    /// Makes a call that changes the disk; a test may let it fail.
    fn change<T>(
        &self,
        call: Call<'_>,
        action: &'static str,
        change: impl FnOnce() -> rustix::io::Result<T>,
    ) -> Result<T> {
        self.at(call.name, action, fault::step(call).and_then(|()| change()))
    }

    /// Makes a file that was not there, for writing.
    pub(crate) fn create(&self, name: &[u8], mode: u32) -> Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let call = Call { bytes: &mode.to_be_bytes(), ..self.call(CallKind::Create, name) };
        let file =
            self.change(call, "create", || fs::openat(&self.fd, name, flags, mode.into()))?;
        self.give(name, &file)?;
        Ok(File::from(file))
    }

    /// Gives a file or a directory that we made to the owner of the data directory.
    fn give(&self, name: &[u8], made: &OwnedFd) -> Result<()> {
        let Some(owner) = &self.settings.owner else { return Ok(()) };
        self.change(self.call(CallKind::Chown, name), "set the owner of", || owner.give(made))
    }

    /// Opens a file for reading and writing, and makes it where there is none.
    pub(crate) fn open_or_create(&self, name: &[u8], mode: u32) -> Result<File> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match fs::openat(&self.fd, name, flags, Mode::empty()) {
            Err(Errno::NOENT) => {}
            done => return self.at(name, "open", done).map(File::from),
        }
        let open = || fs::openat(&self.fd, name, flags | OFlags::CREATE, mode.into());
        let file = self.change(self.call(CallKind::Create, name), "create", open)?;
        self.give(name, &file)?;
        Ok(File::from(file))
    }

    /// Replaces the content of an open file of this directory, in place.
    pub(crate) fn overwrite(&self, name: &[u8], file: &mut File, bytes: &[u8]) -> Result<()> {
        let call = Call { bytes, ..self.call(CallKind::Overwrite, name) };
        self.change(call, "write", || {
            let emptied = file.set_len(0).and_then(|()| file.rewind());
            emptied.and_then(|()| file.write_all(bytes)).map_err(|error| errno(&error))
        })
    }

    pub(crate) fn write(&self, name: &[u8], file: &mut File, bytes: &[u8]) -> Result<()> {
        let call = Call { bytes, ..self.call(CallKind::Write, name) };
        self.change(call, "write", || file.write_all(bytes).map_err(|error| errno(&error)))
    }

    /// Makes a file durable, its mode included. If this fails its bytes may be gone: the file must
    /// be thrown away.
    pub(crate) fn sync_file(&self, name: &[u8], file: &File) -> Result<()> {
        self.change(self.call(CallKind::Fsync, name), "sync", || fs::fsync(file))
    }

    /// Makes the entries of this directory durable.
    pub(crate) fn sync(&self) -> Result<()> {
        self.change(self.call(CallKind::Fsync, b""), "sync", || fs::fsync(&self.fd))
    }

    /// Makes everything on this directory's volume durable.
    pub(crate) fn sync_volume(&self) -> Result<()> {
        let call = self.call(CallKind::Syncfs, b"");
        self.change(call, "sync the volume of", || fs::syncfs(&self.fd))
    }

    /// Renames an entry, replacing a file that is there.
    pub(crate) fn rename(&self, name: &[u8], to: &Self, new: &[u8]) -> Result<()> {
        let done = fault::step(self.call(CallKind::Rename, name).to(to, new))
            .and_then(|()| fs::renameat(&self.fd, name, &to.fd, new));
        to.at(new, "rename a new file to", done)
    }

    /// Renames an entry to a name that must be free.
    pub(crate) fn rename_new(&self, name: &[u8], to: &Self, new: &[u8]) -> Result<()> {
        let rename = |()| fs::renameat_with(&self.fd, name, &to.fd, new, RenameFlags::NOREPLACE);
        let done = match fault::step(self.call(CallKind::Rename, name).to(to, new)).and_then(rename)
        {
            // Some network file systems know no flags. A directory never replaces a full one.
            Err(Errno::INVAL | Errno::NOSYS) => fs::renameat(&self.fd, name, &to.fd, new),
            done => done,
        };
        to.at(new, "move a new directory to", done)
    }

    pub(crate) fn unlink(&self, name: &[u8]) -> Result<()> {
        let unlink = || fs::unlinkat(&self.fd, name, AtFlags::empty());
        self.change(self.call(CallKind::Unlink, name), "delete", unlink)
    }

    pub(crate) fn remove_dir(&self, name: &[u8]) -> Result<()> {
        let remove = || fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR);
        self.change(self.call(CallKind::Rmdir, name), "remove the directory", remove)
    }

    /// Makes a directory and opens it; its mode does not depend on the umask.
    pub(crate) fn make_dir(&self, name: &[u8], mode: u32) -> Result<Self> {
        let make = || fs::mkdirat(&self.fd, name, mode.into());
        self.change(self.call(CallKind::Mkdir, name), "make the directory", make)?;
        let dir = self.open(name)?;
        let chmod = dir.correct_mode(mode);
        self.at(name, "set the mode of", chmod)?;
        self.give(name, &dir.fd)?;
        Ok(dir)
    }

    /// Makes a directory that is most likely not there, and opens it.
    pub(crate) fn make_or_open_dir(&self, name: &[u8], mode: u32) -> Result<Self> {
        match self.make_dir(name, mode) {
            Err(error) if error.is(Errno::EXIST) => self.open(name),
            done => done,
        }
    }

    /// Opens a directory, and makes it where there is none.
    pub(crate) fn open_or_make_dir(&self, name: &[u8], mode: u32) -> Result<Self> {
        match self.open(name) {
            Err(error) if error.is(Errno::NOENT) => self.make_or_open_dir(name, mode),
            opened => opened,
        }
    }

    fn correct_mode(&self, mode: u32) -> rustix::io::Result<()> {
        set_mode(&self.fd, mode, || fault::step(self.call(CallKind::Chmod, b"")))
    }

    /// Opens a file for reading. What is not a regular file is refused without blocking on it.
    pub(crate) fn open_file(&self, name: &[u8]) -> Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = self.at(name, "open", fs::openat(&self.fd, name, flags, Mode::empty()))?;
        let stat = self.at(name, "stat", fs::fstat(&file))?;
        if FileType::of(stat.st_mode) == FileType::File {
            Ok(File::from(file))
        } else {
            self.at(name, "open", Err(Errno::INVAL))
        }
    }

    /// Reads a file, or as much of it as is asked for.
    pub(crate) fn read(&self, name: &[u8], most: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut file = self.open_file(name)?.take(most);
        self.checked_read(name, file.read_to_end(&mut bytes))?;
        Ok(bytes)
    }

    /// Adds the name to what went wrong with reading a file of this directory.
    pub(crate) fn checked_read(&self, name: &[u8], read: io::Result<usize>) -> Result<usize> {
        self.at(name, "read", read.map_err(|error| errno(&error)))
    }

    /// The error of a read that was not ended because the run is to end.
    pub(crate) fn interrupted(&self, name: &[u8]) -> DiskError {
        DiskError {
            action: "read",
            path: self.path.join(name),
            top: Arc::clone(&self.top),
            source: Errno::INTR.into(),
        }
    }

    /// Copies the bytes of a file into an open file of another directory.
    pub(crate) fn copy(&self, name: &[u8], to: &Self, new: &[u8], copy: &mut File) -> Result<()> {
        let mut file = self.open_file(name)?;
        let mut buffer = vec![0; 128 * 1024];
        loop {
            let read = self.checked_read(name, file.read(&mut buffer))?;
            if read == 0 {
                return Ok(());
            }
            to.write(new, copy, &buffer[..read])?;
        }
    }

    /// Sets the permissions of a regular file, durably.
    pub(crate) fn chmod(&self, name: &[u8], mode: u32) -> Result<()> {
        let file = self.open_file(name)?;
        let chmod = || fs::fchmod(&file, Mode::from_raw_mode(mode));
        self.change(self.call(CallKind::Chmod, name), "set the mode of", chmod)?;
        self.sync_file(name, &file)
    }

    /// Removes whatever has this name, with all that is in it.
    pub(crate) fn remove_tree(&self, name: &[u8]) -> Result<()> {
        match self.unlink(name) {
            Err(error) if error.is(Errno::ISDIR) || error.is(Errno::PERM) => {}
            Err(error) if error.is(Errno::NOENT) => return Ok(()),
            done => return done,
        }
        let dir = self.open(name)?;
        for entry in dir.list()? {
            dir.remove_tree(&entry.name)?;
        }
        self.remove_dir(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scratch;

    #[test]
    fn the_root_is_called_what_it_is_and_the_rest_by_its_path() {
        let scratch = Scratch::new();
        let data = Dir::open_root(&scratch.path("")).unwrap();
        let work = Dir::open_top(&scratch.path(""), "the working directory").unwrap();
        let place = scratch.path("").display().to_string();
        let said = |dir: &Dir, name: &[u8]| {
            dir.at::<()>(name, "list", Err(Errno::IO)).unwrap_err().to_string()
        };
        assert_eq!(said(&data, b""), format!("failed to list the data directory {place}"));
        assert_eq!(said(&work, b""), format!("failed to list the working directory {place}"));
        assert_eq!(said(&data, b"a/b"), "failed to list \"a/b\"");
    }
}
