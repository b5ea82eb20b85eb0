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
    let directories: Vec<PathBuf> = if name.as_encoded_bytes().contains(&b'/') {
        vec![PathBuf::new()]
    } else {
        std::env::split_paths(&path).chain(SYSTEM_DIRECTORIES.map(PathBuf::from)).collect()
    };
    let mut files = directories.iter().map(|directory| directory.join(name));
    files.find(|file| is_executable(file)).ok_or_else(|| {
        let reason = format!("program {} is not installed", name.display());
        io::Error::new(io::ErrorKind::NotFound, reason)
    })
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
