//! Reads what `/proc` knows about a process and its descendants.

use std::fs;
use std::time::Duration;

/// Linux counts processor time in ticks of this length, whatever the kernel's own clock is.
const TICK: Duration = Duration::from_millis(10);
/// Git's tree of helpers is three or four deep; a cycle can't be, but costs nothing to exclude.
const DEPTH: u8 = 8;

/// Programs that work on what arrived, or on what is about to be sent from this machine. Whoever reads
/// from the server does not count: a flood of idle talk keeps it busy, too.
const WORKERS: [&[u8]; 3] = [b"index-pack", b"rev-list", b"pack-objects"];

/// Returns the processor time that descendants of a process spent on real work.
pub(crate) fn working_time(pid: u32) -> Duration {
    time_below(pid, DEPTH)
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
    let listed = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    listed.split_ascii_whitespace().filter_map(|child| child.parse().ok()).collect()
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
    fn a_process_that_is_gone_took_no_time() {
        assert_eq!(working_time(u32::MAX), Duration::ZERO);
    }
}
