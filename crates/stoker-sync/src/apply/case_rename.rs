//! Renames that change only the case of a name, on a volume that ignores case.
//!
//! The content is already right, so a rename that fails does not fail the run. No file is lost if
//! the process dies in between.

use crate::disk::Dir;
use crate::reserved::{self, TEMPORARY_PREFIX};

/// Spells an entry's name like this. Can be repeated, also after it was interrupted.
pub(super) fn rename_case(dir: &Dir, name: &[u8]) {
    // The kernel does nothing for a new name of the same file, so there is a third one between.
    let between = [TEMPORARY_PREFIX, b"respell-", name].concat();
    if let Some(other) = other_spelling(dir, name) {
        dir.rename_new(&other, dir, &between).ok();
    }
    dir.rename_new(&between, dir, name).ok();
}

/// Returns how a directory spells the name under which it has something, if not like this.
fn other_spelling(dir: &Dir, name: &[u8]) -> Option<Box<[u8]>> {
    let inode = |name: &[u8]| Some(dir.stat(name).ok()??.stamp.inode);
    let (own, folded) = (inode(name)?, reserved::fold(name));
    let entries = dir.list().ok()?;
    if entries.iter().any(|entry| *entry.name == *name) {
        return None;
    }
    let is_it = |other: &[u8]| reserved::fold(other) == folded && inode(other) == Some(own);
    entries.into_iter().map(|entry| entry.name).find(|other| is_it(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scratch;

    // What needs such a volume is tried on one, through the program.
    #[test]
    fn what_was_interrupted_is_finished_and_what_is_another_file_stays() {
        let scratch = Scratch::new();
        scratch.write("data/.stoker-respell-Oven/view", "v");
        scratch.write("data/lamp", "small");
        let dir = Dir::open_root(&scratch.path("data")).unwrap();
        for name in ["Oven", "Lamp"] {
            rename_case(&dir, name.as_bytes());
        }
        assert_eq!(scratch.read("data/Oven/view"), "v");
        assert_eq!(scratch.read("data/lamp"), "small");
        assert!(dir.stat(b"Lamp").unwrap().is_none());
    }
}
