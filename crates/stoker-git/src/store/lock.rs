//! The lock of a store: one process uses a store at a time.

use std::fs::{File, OpenOptions};
use std::io::{Seek, Write};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use stoker_sync::file_lock::{FileLock, Holder, Refused};

use super::Error;
use crate::Cancel;

/// More than the line that names a holder has.
const MAX_LINE: usize = 200;

/// Takes the lock, or returns an error that names its holder.
pub(super) fn take(path: &Path, timeout: Duration, cancel: &Cancel) -> Result<FileLock, Error> {
    let failed = |action, source| Error::Disk { action, path: path.to_owned(), source };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let is_current = |file: &File| {
        let inode = |metadata: std::io::Result<std::fs::Metadata>| {
            metadata.map(|metadata| (metadata.dev(), metadata.ino())).ok()
        };
        let own = inode(file.metadata());
        own.is_some() && own == inode(std::fs::metadata(path))
    };
    let taken = FileLock::take(|| options.open(path), is_current, timeout, cancel);
    let mut lock = taken.map_err(|refused| match refused {
        Refused::Open(source) => failed("open", source),
        Refused::Unsupported(source) => failed("lock", source),
        Refused::Held { file, .. } => Error::Locked { holder: holder(&file) },
        Refused::Cancelled => Error::Cancelled,
    })?;
    // On a full volume this fails. The run goes on, because it can make room.
    drop(sign(&mut lock.file));
    Ok(lock)
}

/// Writes the holder's name for a process that waits. Only the kernel's lock counts.
fn sign(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(Holder::own_line().as_bytes())
}

fn holder(file: &File) -> Holder {
    let mut words = [0; MAX_LINE];
    let read = file.read_at(&mut words, 0).unwrap_or_default();
    let inode = || file.metadata().map(|metadata| Holder::by_kernel(metadata.ino()));
    Holder::parse(&words[..read]).unwrap_or_else(|| inode().unwrap_or_default())
}
