//! The state directory is ours alone.

use std::fs::File;
use std::path::Path;

use rustix::fs::{self, Mode, OFlags};

use crate::disk::Dir;
use crate::name::STATE_DIR;

/// Everything that is not the owner's.
const OTHERS: u32 = 0o077;

/// Takes from others what someone else gave them: an administrator's `mkdir`, or a volume's group.
///
/// Best effort: a directory of another user may be usable all the same, and is not ours to change.
pub(super) fn tighten(root: &Dir, data: &Path) {
    let name = STATE_DIR.as_bytes();
    let Ok(Some(look)) = root.look(name) else { return };
    if look.mode & OTHERS == 0 {
        return;
    }
    // The link that may stand there by now is not followed.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if let Ok(directory) = fs::open(data.join(STATE_DIR), flags, Mode::empty()) {
        root.correct_file_mode(name, &File::from(directory), look.mode & !OTHERS).ok();
    }
}
