//! Lets ssh run for a uid that has no entry in the password database.
//!
//! OpenSSH refuses to start for such a uid, which is the rule on some clusters. The library
//! `nss_wrapper` shows a program a password file of ours instead; images carry it beside ssh.

use std::fs;
use std::path::{Path, PathBuf};

const LIBRARY: &str = "libnss_wrapper.so";
const DIRECTORIES: &[&str] = &["/usr/lib", "/usr/lib64", "/lib", "/usr/local/lib"];

/// What ssh should be shown instead of `/etc/passwd`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Substitute {
    /// The library that shows it.
    pub(super) library: PathBuf,
    /// The password file, with an entry for us.
    pub(super) passwd: Vec<u8>,
}

/// Returns a substitute for a uid that has no entry; `None` if it has one, or there is no library.
///
/// A uid that only a directory service knows counts as one without: the name that ssh then believes
/// to be ours does not matter, because URLs name the user.
pub(super) fn substitute(uid: u32, gid: u32) -> Option<Substitute> {
    let mut passwd = fs::read("/etc/passwd").unwrap_or_default();
    if names(&passwd, uid) {
        return None;
    }
    let library = library(&DIRECTORIES.iter().map(Path::new).collect::<Vec<_>>())?;
    let entry = format!("stoker:x:{uid}:{gid}::/nonexistent:/bin/false\n");
    passwd.extend_from_slice(entry.as_bytes());
    Some(Substitute { library, passwd })
}

/// Says whether a password file has an entry for the uid: its third field.
fn names(passwd: &[u8], uid: u32) -> bool {
    let uid = uid.to_string();
    let field = |line: &[u8]| line.split(|byte| *byte == b':').nth(2).map(<[u8]>::to_vec);
    passwd.split(|byte| *byte == b'\n').any(|line| field(line).as_deref() == Some(uid.as_bytes()))
}

/// Debian keeps libraries one level deeper, below the name of the architecture.
fn library(directories: &[&Path]) -> Option<PathBuf> {
    let below = |directory: &Path| {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.path().join(LIBRARY)).find(|path| path.is_file())
    };
    directories.iter().find_map(|directory| {
        let here = directory.join(LIBRARY);
        if here.is_file() { Some(here) } else { below(directory) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_by_their_third_field() {
        let passwd = b"root:x:0:0:root:/root:/bin/sh\n1000:x:7:1000::/:/bin/sh\n";
        assert!(names(passwd, 0));
        assert!(names(passwd, 7));
        assert!(!names(passwd, 1000));
        assert!(!names(b"", 0));
    }

    #[test]
    fn the_library_is_found_in_a_directory_or_one_below() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(library(&[directory.path()]), None);
        let deeper = directory.path().join("x86_64-linux-gnu");
        fs::create_dir(&deeper).unwrap();
        fs::write(deeper.join(LIBRARY), "").unwrap();
        assert_eq!(library(&[directory.path()]), Some(deeper.join(LIBRARY)));
    }
}
