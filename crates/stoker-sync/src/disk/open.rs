//! Opening directories beneath another one without following links.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{self, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// How a directory is opened: readable, for listing and syncing.
pub(super) const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The longest path that one call takes.
const LONGEST: usize = 4_000;

/// Old kernels and some sandboxes have no `openat2`; it is asked for once.
static HAS_OPENAT2: AtomicBool = AtomicBool::new(true);

/// Opens `path`, clean and relative, beneath `root`.
pub(super) fn beneath(root: &OwnedFd, path: &[u8]) -> rustix::io::Result<OwnedFd> {
    if path.len() > LONGEST || !HAS_OPENAT2.load(Ordering::Relaxed) {
        return by_component(root, path);
    }
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let name = if path.is_empty() { b"." } else { path };
    match fs::openat2(root, name, DIRECTORY, Mode::empty(), resolve) {
        Err(Errno::NOSYS | Errno::PERM) => {
            HAS_OPENAT2.store(false, Ordering::Relaxed);
            by_component(root, path)
        }
        // A rename elsewhere made the kernel unsure; walking by hand has no such doubt.
        Err(Errno::AGAIN) => by_component(root, path),
        done => done,
    }
}

/// Walks down one component at a time, refusing links at each.
fn by_component(root: &OwnedFd, path: &[u8]) -> rustix::io::Result<OwnedFd> {
    let step = |fd: rustix::fd::BorrowedFd<'_>, name: &[u8]| {
        fs::openat(fd, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())
    };
    let mut fd = step(root.as_fd(), b".")?;
    for component in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
        fd = step(fd.as_fd(), component)?;
    }
    Ok(fd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scratch;

    #[test]
    fn links_are_refused_with_and_without_openat2() {
        let scratch = Scratch::new();
        scratch.write("outside/canary", "c");
        scratch.write("root/a/b/file", "f");
        scratch.link("root/a/leak", "../../outside");
        let root = fs::open(scratch.path("root"), DIRECTORY, Mode::empty()).unwrap();
        for open in [beneath, by_component] {
            assert!(open(&root, b"a/b").is_ok());
            assert!(open(&root, b"").is_ok());
            assert!(open(&root, b"a/leak").is_err());
            assert!(open(&root, b"a/leak/canary").is_err());
            assert_eq!(open(&root, b"a/none").unwrap_err(), Errno::NOENT);
        }
    }
}
