//! A memory limit as a container has it: a control group of our own, version 1 or 2.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::Context as _;

use crate::program;

const ROOT: &str = "/sys/fs/cgroup";
/// How often the memory in use is looked at.
const GLANCE: Duration = Duration::from_millis(20);

/// A control group with a memory limit, gone with the value.
#[derive(Debug)]
pub struct Cgroup {
    directory: PathBuf,
    files: Files,
}

/// What the two versions call the same things.
#[derive(Debug)]
struct Files {
    limit: &'static str,
    peak: &'static str,
    anonymous: &'static str,
    kills: &'static str,
}

/// How a program fared under a limit.
#[derive(Debug)]
pub struct Fared {
    /// How it ended.
    pub output: Output,
    /// The most memory that could not be given back: no page cache.
    pub anonymous_peak: u64,
    /// The most memory in use, page cache included.
    pub peak: u64,
    /// How many processes the kernel killed for want of memory.
    pub kills: u64,
}

const V1: Files = Files {
    limit: "memory.limit_in_bytes",
    peak: "memory.max_usage_in_bytes",
    anonymous: "total_rss",
    kills: "memory.oom_control",
};

const V2: Files =
    Files { limit: "memory.max", peak: "memory.peak", anonymous: "anon", kills: "memory.events" };

impl Cgroup {
    /// Makes a group; fails where we may not, or where the kernel has no memory controller.
    pub fn with_limit(bytes: u64) -> io::Result<Self> {
        let (parent, files) = if Path::new(ROOT).join("memory").is_dir() {
            (Path::new(ROOT).join("memory"), V1)
        } else {
            fs::write(Path::new(ROOT).join("cgroup.subtree_control"), "+memory")?;
            (PathBuf::from(ROOT), V2)
        };
        let directory = parent.join(format!("stoker-bench-{}", std::process::id()));
        fs::create_dir(&directory)?;
        let group = Self { directory, files };
        fs::write(group.directory.join(group.files.limit), bytes.to_string())?;
        Ok(group)
    }

    /// Runs a command inside, and watches what it takes.
    pub fn run(&self, command: &Command) -> anyhow::Result<Fared> {
        let mut inside = program::isolated("/bin/sh");
        inside.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]);
        inside.arg(self.processes());
        inside.arg(command.get_program()).args(command.get_args());
        inside.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = inside.spawn().context("failed to start a limited program")?;
        let mut anonymous_peak = 0;
        // What it says is short, so no pipe fills up while nobody reads.
        while child.try_wait().context("failed to wait")?.is_none() {
            anonymous_peak = anonymous_peak.max(self.anonymous());
            std::thread::sleep(GLANCE);
        }
        let output = child.wait_with_output().context("failed to wait")?;
        Ok(Fared { output, anonymous_peak, peak: self.peak(), kills: self.kills() })
    }

    /// Returns the file that takes the ids of processes; 0 stands for the process that writes it.
    pub fn processes(&self) -> PathBuf {
        self.directory.join("cgroup.procs")
    }

    /// Returns the memory in use that can't be given back: no page cache.
    pub fn in_use(&self) -> u64 {
        self.anonymous()
    }

    /// Returns how many processes the kernel killed for want of memory.
    pub fn killed(&self) -> u64 {
        self.kills()
    }

    fn peak(&self) -> u64 {
        self.read(self.files.peak).trim().parse().unwrap_or_default()
    }

    fn anonymous(&self) -> u64 {
        value_of(&self.read("memory.stat"), self.files.anonymous)
    }

    fn kills(&self) -> u64 {
        value_of(&self.read(self.files.kills), "oom_kill")
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.directory.join(file)).unwrap_or_default()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // Empty by now; if not, the kernel says no and a later boot cleans up.
        fs::remove_dir(&self.directory).ok();
    }
}

/// Finds `key 123` among lines.
fn value_of(text: &str, key: &str) -> u64 {
    let words = text.lines().filter_map(|line| line.split_once(' '));
    let mut values = words.filter(|(name, _)| *name == key).map(|(_, value)| value.trim());
    values.next().and_then(|value| value.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_taken_as_a_whole_word() {
        let text = "rss 5\ntotal_rss 77\ntotal_rss_huge 9\n";
        assert_eq!(value_of(text, "total_rss"), 77);
        assert_eq!(value_of(text, "oom_kill"), 0);
    }
}
