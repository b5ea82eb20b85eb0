//! Files that exist in memory only, for what git and ssh want to be given as a path.
//!
//! A path below `/proc/<our pid>/fd` is readable by our own children, is gone with our process, even
//! if that is killed, and never touches a disk.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, Mode, fchmod, memfd_create};

/// A file in memory.
#[derive(Debug)]
pub struct MemFile(File);

impl MemFile {
    /// Makes a file with the given content, which only our own uid can read.
    pub fn new(content: &[u8]) -> io::Result<Self> {
        let file = memfd_create(c"stoker", MemfdFlags::CLOEXEC)?;
        // ssh refuses a key that others could read, and a fresh memory file has every right set.
        fchmod(&file, Mode::RUSR | Mode::WUSR)?;
        let mut file = File::from(file);
        file.write_all(content)?;
        Ok(Self(file))
    }

    /// Returns the path under which children find the file, for as long as `self` lives.
    pub fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()).into()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn children_read_it_by_path_and_it_is_private() {
        let file = MemFile::new(b"content").unwrap();
        let seen = std::process::Command::new("cat").arg(file.path()).output().unwrap();
        assert_eq!(seen.stdout, b"content");
        let mode = std::fs::metadata(file.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
