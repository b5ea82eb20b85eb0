#![expect(clippy::disallowed_methods, reason = "disk edge: a writer has so long and no longer")]

//! Reads files that a user named: keys, tokens, certificates.
//!
//! Such a path may lead anywhere. Links are followed, because the files of a Kubernetes Secret are
//! links; files in memory are files like others. Anything else is refused before it can make us
//! wait: a device or a directory at once, a pipe after a moment without data.
//!
//! A pipe, as a shell makes one of `<(command)`, can be read once. Most of these files are read again
//! for every operation, so that a pipe does for few of them; the second time the error says why.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;

/// How long a pipe may take to its end. Two of them are over before a signal has to be obeyed.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a key or a token takes.
const USUAL: u64 = 16 * 1024;

/// Reads a whole file that has no more bytes than `limit`.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
    // Without it, reading a pipe without a writer would block for ever.
    let file = File::from(open(path, flags | OFlags::NONBLOCK, Mode::empty())?);
    let found = fstat(&file)?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => {
            let size = u64::try_from(found.st_size).unwrap_or(0);
            read_whole(&mut (&file), size, limit)
        }
        FileType::Fifo => {
            let mut pipe = Pipe { file: &file, until: Instant::now() + PATIENCE };
            let bytes = read_whole(&mut pipe, USUAL, limit)?;
            if bytes.is_empty() { Err(without_a_writer()) } else { Ok(bytes) }
        }
        FileType::Directory => Err(Errno::ISDIR.into()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a device, not a regular file")),
    }
}

/// A pipe that is read with a timeout.
struct Pipe<'a> {
    file: &'a File,
    until: Instant,
}

impl io::Read for Pipe<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let left = self.until.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).map_err(io::Error::other)?;
            match poll(&mut [PollFd::new(self.file, PollFlags::IN)], Some(&left)) {
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
                Ok(0) => return Err(without_a_writer()),
                Ok(_) => {}
            }
            match self.file.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    }
}

fn read_whole(file: &mut dyn io::Read, size: u64, limit: u64) -> io::Result<Vec<u8>> {
    // Memory that grew would leave half a secret behind where it was before.
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(limit) + 1).unwrap_or(0));
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let why = format!("it has more than {limit} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

fn without_a_writer() -> io::Error {
    let why = "it is a pipe without a writer, or one that was read before: give a regular file";
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;
    use std::path::PathBuf;

    use rustix::fs::{CWD, MemfdFlags, memfd_create, mknodat};

    use super::*;

    fn pipe() -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        (root, path)
    }

    fn kind(path: impl AsRef<Path>) -> io::ErrorKind {
        read(path.as_ref(), 10).unwrap_err().kind()
    }

    #[test]
    fn files_are_read_through_links_and_in_memory() {
        let root = tempfile::tempdir().unwrap();
        let link = root.path().join("token");
        std::os::unix::fs::symlink("..data/token", &link).unwrap();
        std::fs::create_dir(root.path().join("..data")).unwrap();
        std::fs::write(root.path().join("..data/token"), "0123456789").unwrap();
        assert_eq!(read(&link, 10).unwrap(), b"0123456789");
        assert_eq!(read(&link, 9).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        let mut memory = File::from(memfd_create(c"given", MemfdFlags::CLOEXEC).unwrap());
        memory.write_all(b"secret").unwrap();
        let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
        assert_eq!(read(path.as_ref(), 10).unwrap(), b"secret");
    }

    #[test]
    fn what_is_not_a_file_is_refused() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(kind(root.path()), io::ErrorKind::IsADirectory);
        assert_eq!(kind(root.path().join("absent")), io::ErrorKind::NotFound);
        assert_eq!(kind("/dev/zero"), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_pipe_without_a_writer_is_given_up() {
        let (_root, path) = pipe();
        let error = read(&path, 10).unwrap_err();
        assert!(error.to_string().contains("without a writer"), "{error}");
        // A writer that sends nothing is the same.
        let _silent = File::options().read(true).write(true).open(&path).unwrap();
        assert_eq!(kind(&path), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_pipe_is_read_to_its_end_once() {
        let (_root, path) = pipe();
        let writing = std::thread::spawn({
            let path = path.clone();
            move || std::fs::write(path, "secret")
        });
        assert_eq!(read(&path, 10).unwrap(), b"secret");
        writing.join().unwrap().unwrap();
        assert_eq!(kind(&path), io::ErrorKind::InvalidInput);
    }
}
