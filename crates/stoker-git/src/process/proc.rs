//! Reads what `/proc` knows about a process and its descendants.

use std::fs;
use std::path::Path;
use std::time::Duration;

/// Linux counts processor time in ticks of this length, whatever the kernel's own clock is.
const TICK: Duration = Duration::from_millis(10);
/// Git's tree of helpers is three or four deep; a cycle can't be, but costs nothing to exclude.
const DEPTH: u8 = 8;

/// Programs that work on what arrived, or on what is about to be sent from this machine. Whoever
/// reads from the server does not count: a flood of idle talk keeps it busy, too.
const WORKERS: [&[u8]; 3] = [b"index-pack", b"rev-list", b"pack-objects"];

/// Returns the processor time that descendants of a process spent on real work.
pub(crate) fn working_time(pid: u32) -> Duration {
    shown_as(pid).map_or(Duration::ZERO, |pid| time_below(pid, DEPTH))
}

/// Returns the number that `/proc` has for a child of ours: another one than ours, if we are in a
/// pid namespace without a `/proc` of its own.
fn shown_as(pid: u32) -> Option<u32> {
    let own = fs::read_link("/proc/self").ok()?;
    if own.as_os_str() == std::process::id().to_string().as_str() {
        return Some(pid);
    }
    let threads = fs::read_dir("/proc/self/task").ok()?.flatten();
    let mut children = threads.flat_map(|thread| numbers(&thread.path().join("children")));
    children.find(|child| {
        let status = fs::read_to_string(format!("/proc/{child}/status"));
        status.is_ok_and(|status| innermost(&status) == Some(pid))
    })
}

/// Returns the number of a process in its own pid namespace.
fn innermost(status: &str) -> Option<u32> {
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_ascii_whitespace().next_back()?.parse().ok()
}

fn time_below(pid: u32, depth: u8) -> Duration {
    let Some(depth) = depth.checked_sub(1) else { return Duration::ZERO };
    let time = |child: u32| own_time(child) + time_below(child, depth);
    children(pid).into_iter().map(time).sum()
}

fn own_time(pid: u32) -> Duration {
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut arguments = arguments.split(|byte| *byte == 0);
    if !arguments.any(|argument| WORKERS.contains(&argument)) {
        return Duration::ZERO;
    }
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    TICK * stat.and_then(|stat| ticks(&stat)).unwrap_or(0)
}

/// User, system, and both of the children that were waited for: fields 14 to 17.
fn ticks(stat: &str) -> Option<u32> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let fields = after_name.split_ascii_whitespace().skip(11).take(4);
    fields.map(|field| field.parse::<u32>().ok()).sum()
}

fn children(pid: u32) -> Vec<u32> {
    numbers(format!("/proc/{pid}/task/{pid}/children").as_ref())
}

fn numbers(list: &Path) -> Vec<u32> {
    let listed = fs::read_to_string(list).unwrap_or_default();
    listed.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_blanks_and_brackets_does_not_shift_the_fields() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 1 2 3 4 10 20 30 40 20 0 1 0 5";
        assert_eq!(ticks(stat), Some(100));
    }

    #[test]
    fn a_child_in_a_namespace_is_known_by_its_inner_number() {
        assert_eq!(innermost("Name:\tgit\nNSpid:\t4711\t17\nNSpgid:\t4711\t17\n"), Some(17));
        assert_eq!(innermost("Name:\tgit\n"), None);
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert_eq!(shown_as(child.id()), Some(child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_that_is_gone_took_no_time() {
        assert_eq!(working_time(u32::MAX), Duration::ZERO);
    }
}
