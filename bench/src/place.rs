//! Where measuring happens: a directory on tmpfs, so that no disk is in the figures.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use tempfile::TempDir;

const TMPFS: &str = "/dev/shm";
const TMPFS_MAGIC: rustix::fs::FsWord = 0x0102_1994;
const TEMPORARY: &str = "TMPDIR";

/// A directory for one run, gone with the value.
#[derive(Debug)]
pub struct Place {
    root: TempDir,
}

/// Starts this process anew with its temporary directory on tmpfs, unless it is there already.
///
/// What makes repositories and servers for us goes by that variable, and a process can't safely
/// change it for itself. Where there is no tmpfs, measuring goes on and the report says so.
pub fn move_to_tmpfs() -> anyhow::Result<()> {
    let is_asked_for = std::env::var_os(TEMPORARY).is_some();
    if is_asked_for || !is_tmpfs(Path::new(TMPFS)) || is_tmpfs(&std::env::temp_dir()) {
        return Ok(());
    }
    let me = std::env::current_exe().context("failed to find this program")?;
    let mut command = Command::new(me);
    command.args(std::env::args_os().skip(1)).env(TEMPORARY, OsStr::new(TMPFS));
    Err(command.exec()).context("failed to start anew on tmpfs")
}

impl Place {
    /// Makes a directory below the temporary one.
    pub fn make() -> anyhow::Result<Self> {
        Self::below(&std::env::temp_dir())
    }

    /// Makes a directory below another one.
    pub fn below(parent: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(parent).context("failed to make a directory")?;
        let root = TempDir::with_prefix_in("stoker-bench-", parent);
        Ok(Self { root: root.context("failed to make a directory to measure in")? })
    }

    /// Returns the path of an entry, made or not.
    pub fn join(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Returns what kind of file system it is on.
    pub fn file_system(&self) -> &'static str {
        if is_tmpfs(self.root.path()) { "tmpfs" } else { "disk" }
    }
}

/// Removes a directory that a turn left, if there is one.
pub fn clear(path: &Path) -> anyhow::Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        result => result.with_context(|| format!("failed to remove {}", path.display())),
    }
}

fn is_tmpfs(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|found| found.f_type == TMPFS_MAGIC)
}
