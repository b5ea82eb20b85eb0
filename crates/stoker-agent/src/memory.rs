//! What the worker does about memory before it does anything else.
//!
//! On cgroup v2 the kubelet kills the whole container when it runs out of memory, the supervisor
//! included. So the worker and git, which inherits it, get a limit of their own below that of the
//! container, and fail by themselves first; and the worker offers itself to the kernel's killer.

use std::fs;

use rustix::process::{Resource, Rlimit, Signal, setrlimit};

/// Where the container's limit is, by version of cgroups.
const LIMITS: [&str; 2] =
    ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
/// A limit above this is none: cgroup v1 has a very large number for "no limit".
const NONE: u64 = 1 << 50;

/// Limits this process and those that it starts, and ends it when its supervisor ends.
///
/// Where the system refuses one of these, the agent works without it.
pub(crate) fn prepare() {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).ok();
    fs::write("/proc/self/oom_score_adj", "1000").ok();
    let found = LIMITS.iter().find_map(|path| fs::read_to_string(path).ok());
    if let Some(bytes) = found.as_deref().and_then(share) {
        let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
        setrlimit(Resource::Data, limit).ok();
    }
}

/// Returns half of a container's limit.
fn share(limit: &str) -> Option<u64> {
    let bytes: u64 = limit.trim().parse().ok()?;
    (bytes < NONE).then_some(bytes / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_real_limit_is_ours() {
        let cases =
            [("268435456\n", Some(128 << 20)), ("max\n", None), ("9223372036854771712", None)];
        for (limit, expected) in cases {
            assert_eq!(share(limit), expected, "{limit}");
        }
    }
}
