//! Raises the limit of open files.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the number to what is allowed at most: a walk down a tree keeps one file open for each
/// level, and trees may be deep.
pub(crate) fn raise() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Where it can't be raised, it is what it was.
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).ok();
}
