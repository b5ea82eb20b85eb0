//! One process per store: an advisory lock that the kernel lets go of when its holder dies.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::Error;
use crate::cancel::Cancel;

const PAUSE: Duration = Duration::from_millis(20);

/// A held lock; dropping it lets go.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock, or says who holds it.
    pub(super) fn take(path: &Path, patience: Duration, cancel: &Cancel) -> Result<Self, Error> {
        let failed = |action| move |source| Error::Disk { action, path: path.to_owned(), source };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(path).map_err(failed("open"))?;
        let deadline = Instant::now() + patience;
        while let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            if error != rustix::io::Errno::WOULDBLOCK && error != rustix::io::Errno::INTR {
                return Err(failed("lock")(error.into()));
            }
            if cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            if Instant::now() >= deadline {
                return Err(Error::Locked { holder: holder(&mut file) });
            }
            thread::sleep(PAUSE);
        }
        // On a full volume nobody learns who we are, and we have a chance to make room.
        drop(sign(&mut file));
        Ok(Self { file })
    }
}

impl Drop for Lock {
    /// Closing is not enough: a child of another thread has the file, too, until it is executed.
    fn drop(&mut self) {
        flock(&self.file, FlockOperation::Unlock).ok();
    }
}

/// Writes who holds the lock, for whoever waits; only the kernel's lock itself counts.
fn sign(file: &mut File) -> std::io::Result<()> {
    let system = rustix::system::uname();
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "pid {} on {}", std::process::id(), system.nodename().to_string_lossy())
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.take(200).read_to_string(&mut text));
    match read {
        Ok(_) if !text.trim().is_empty() => {
            text.trim().chars().filter(|c| !c.is_control()).collect()
        }
        Ok(_) | Err(_) => "another process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_dropped_is_free_though_a_child_still_has_its_file() {
        let root = tempfile::tempdir().unwrap();
        let take =
            || Lock::take(&root.path().join("lock"), Duration::ZERO, &Cancel::default()).unwrap();
        let lock = take();
        let _inherited = lock.file.try_clone().unwrap();
        drop(lock);
        take();
    }
}
