//! Lines of several logs in the order of time.

use jiff::Timestamp;

/// One line of a pod's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// When the container runtime took it.
    pub(super) time: Option<Timestamp>,
    pub(super) pod: &'a str,
    pub(super) text: String,
}

impl<'a> Line<'a> {
    /// Parses a line that begins with the time, as the kubelet writes it.
    pub(super) fn parse(pod: &'a str, line: &str) -> Self {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        match first.parse() {
            Ok(time) => Self { time: Some(time), pod, text: rest.to_owned() },
            Err(_) => Self { time: None, pod, text: line.to_owned() },
        }
    }
}

/// Sorts lines by time. Lines of one pod keep their order where times are equal or absent.
pub(super) fn sort(lines: &mut [Line<'_>]) {
    let mut last: Option<Timestamp> = None;
    // A line without a time belongs to the one before it.
    for line in lines.iter_mut() {
        line.time = line.time.or(last);
        last = line.time;
    }
    lines.sort_by_key(|line| line.time);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_merged_by_time_and_keep_their_order_within_a_pod() {
        let logs = [
            ("a", "2026-11-16T12:00:00.000000001Z first"),
            ("a", "2026-11-16T12:00:02Z third"),
            ("a", "  a line without a time"),
            ("b", "2026-11-16T12:00:01.5Z second"),
            ("b", "2026-11-16T12:00:02Z last"),
        ];
        let mut lines: Vec<Line<'_>> =
            logs.iter().map(|(pod, line)| Line::parse(pod, line)).collect();
        sort(&mut lines);
        let texts: Vec<&str> = lines.iter().map(|line| &*line.text).collect();
        assert_eq!(texts, ["first", "second", "third", "  a line without a time", "last"]);
    }
}
