//! Where the test kit keeps what outlives one test process: built programs and running clusters.

use std::env;
use std::path::PathBuf;

/// Built programs, outside the checkout: `$XDG_CACHE_HOME/stoker`, else `~/.cache/stoker`.
pub(crate) fn cache() -> PathBuf {
    let base = env::var_os("XDG_CACHE_HOME").filter(|value| !value.is_empty()).map_or_else(
        || env::home_dir().unwrap_or_else(env::temp_dir).join(".cache"),
        PathBuf::from,
    );
    base.join("stoker")
}

/// Running clusters. Short, because the path of a Unix socket may have 107 bytes at most.
pub(crate) fn run() -> PathBuf {
    env::temp_dir().join(format!("stoker-{}", rustix::process::getuid().as_raw()))
}
