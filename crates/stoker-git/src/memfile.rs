//! Files that exist in memory only, for what git and ssh want to be given as a path.
//!
//! A path below `/proc/<our pid>/fd` is readable by our own children, is gone with our process,
//! even if that is killed, and never touches a disk. An inherited descriptor would not do: ssh
//! closes all that it did not open. Our number is the one that this `/proc` has for us, which in a
//! pid namespace without a `/proc` of its own is not the one that `getpid` returns.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, Mode, fchmod, memfd_create};

/// A file in memory.
#[derive(Debug)]
pub struct MemFile {
    /// The path ends with it.
    _file: File,
    path: PathBuf,
}

impl MemFile {
    /// Makes a file with the given content, which only our own uid can read.
    pub fn new(content: &[u8]) -> io::Result<Self> {
        let file = memfd_create(c"stoker", MemfdFlags::CLOEXEC)?;
        // ssh refuses a key that others could read, and a fresh memory file has every right set.
        fchmod(&file, Mode::RUSR | Mode::WUSR)?;
        let mut file = File::from(file);
        file.write_all(content)?;
        let mut path = PathBuf::from("/proc");
        path.push(std::fs::read_link("/proc/self")?);
        path.push(format!("fd/{}", file.as_raw_fd()));
        Ok(Self { _file: file, path })
    }

    /// Returns the path under which children find the file, for as long as `self` lives.
    pub fn path(&self) -> PathBuf {
        self.path.clone()
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

    /// Set for the copy of this test that runs in a pid namespace of its own.
    const INSIDE: &str = "STOKER_TEST_INSIDE";

    // A container may see the /proc of an outer namespace, where our number is another's.
    #[test]
    fn children_read_it_in_a_pid_namespace_without_a_proc_of_its_own() {
        if std::env::var_os(INSIDE).is_some() {
            assert!(std::process::id() < 100, "a fresh namespace counts from 1");
            return children_read_it_by_path_and_it_is_private();
        }
        let inside = |program: &std::path::Path| {
            let mut command = std::process::Command::new("unshare");
            command.args(["--user", "--map-current-user", "--pid", "--fork", "--"]).arg(program);
            command
        };
        if !inside("true".as_ref()).output().is_ok_and(|output| output.status.success()) {
            return stoker_testkit::skip::record("no pid namespace can be made here");
        }
        let name = "children_read_it_in_a_pid_namespace_without_a_proc_of_its_own";
        let ended = inside(&std::env::current_exe().unwrap())
            .args(["--exact", &format!("memfile::tests::{name}")])
            .env(INSIDE, "1")
            .output()
            .unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
    }
}
