//! Where programs are: `PATH`, then the directories that Debian keeps from ordinary users.

use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const SYSTEM_DIRECTORIES: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Returns the path of an installed program.
///
/// A name with a slash is taken as it is. The error names the program.
pub fn find_program(name: &OsStr) -> io::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = SYSTEM_DIRECTORIES.map(PathBuf::from);
    // Joining an absolute path replaces the directory, so a name with a slash needs no case.
    let candidates = std::env::split_paths(&path).chain(system).map(|directory| {
        if Path::new(name).components().count() > 1 { name.into() } else { directory.join(name) }
    });
    candidates.into_iter().find(|file| is_executable(file)).ok_or_else(|| {
        let reason = format!("program {} is not installed", name.display());
        io::Error::new(io::ErrorKind::NotFound, reason)
    })
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
