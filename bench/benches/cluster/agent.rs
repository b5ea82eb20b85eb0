//! The processes of a program in a pod, seen from outside the node.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;
use stoker_bench::program::{self, isolated};

const GROUPS: &str = "/sys/fs/cgroup";
const KIB_PER_MIB: f64 = 1024.0;

/// The processes of one program in one pod.
pub(crate) struct Processes {
    /// Their directories in `/proc`.
    all: Vec<PathBuf>,
}

impl Processes {
    /// Finds the processes of a program in the control group of a pod.
    pub(crate) fn find(program: &str, pod: &str) -> anyhow::Result<Self> {
        let all = fs::read_dir("/proc").context("failed to list processes")?;
        let belongs = |process: &PathBuf| {
            // Not by its name: the agent's worker has another one than its supervisor.
            let file = fs::read_link(process.join("exe")).unwrap_or_default();
            let groups = fs::read_to_string(process.join("cgroup")).unwrap_or_default();
            file.ends_with(program) && groups.contains(pod)
        };
        Ok(Self { all: all.flatten().map(|entry| entry.path()).filter(belongs).collect() })
    }

    /// Returns how many there are.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// Returns the sum of their proportional set sizes, in MiB.
    pub(crate) fn pss(&self) -> anyhow::Result<f64> {
        let sizes = self.all.iter().map(|process| pss(process));
        Ok(sizes.sum::<anyhow::Result<f64>>()? / KIB_PER_MIB)
    }

    /// Returns how much processor time their container has used.
    pub(crate) fn processor_time(&self) -> anyhow::Result<Duration> {
        let groups = self.groups()?;
        let read =
            |file: &str| groups.iter().find_map(|group| fs::read_to_string(group.join(file)).ok());
        if let Some(nanoseconds) = read("cpuacct.usage") {
            return Ok(Duration::from_nanos(nanoseconds.trim().parse()?));
        }
        let statistics = read("cpu.stat").context("the container has a processor group")?;
        let usage = statistics.lines().find_map(|line| line.strip_prefix("usage_usec "));
        Ok(Duration::from_micros(usage.context("cpu.stat has usage_usec")?.trim().parse()?))
    }

    /// Returns the last number that the container gave to a process or thread. Asking takes one.
    pub(crate) fn last_number(&self) -> anyhow::Result<u64> {
        let mut command = isolated("nsenter");
        command.args(["--target", &self.first()?, "--pid", "cat", "/proc/loadavg"]);
        let ran = program::run(&mut command)?;
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        text.split_whitespace()
            .last()
            .context("loadavg ends with a number")?
            .parse()
            .context("it is a number")
    }

    /// Returns a file of their memory group; the first of these names that exists.
    pub(crate) fn memory(&self, names: [&str; 2]) -> anyhow::Result<String> {
        let groups = self.groups()?;
        let mut files = groups.iter().flat_map(|group| names.map(|name| group.join(name)));
        let found = files.find_map(|file| fs::read_to_string(file).ok());
        found.with_context(|| format!("the container has a memory group with {names:?}"))
    }

    /// Returns the command, run in their control groups and on their network.
    pub(crate) fn beside(&self, command: &Command) -> anyhow::Result<Command> {
        let groups = self.groups()?;
        let mut inside = isolated("/bin/sh");
        let script = "for group; do [ \"$group\" = -- ] && break; shift; echo $$ > \"$group/cgroup.procs\"; done\n\
                      shift; exec nsenter --net=\"/proc/$0/ns/net\" \"$@\"";
        inside.args(["-c", script, &self.first()?]).args(groups).arg("--");
        inside.arg(command.get_program()).args(command.get_args());
        inside.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Ok(inside)
    }

    fn first(&self) -> anyhow::Result<String> {
        let process = self.all.first().context("no such process runs")?;
        Ok(process.file_name().unwrap_or_default().to_string_lossy().into_owned())
    }

    /// The control groups of the container, of all controllers that have one.
    fn groups(&self) -> anyhow::Result<Vec<PathBuf>> {
        let process = self.all.first().context("no such process runs")?;
        let text = fs::read_to_string(process.join("cgroup")).context("a process has groups")?;
        let groups = text.lines().filter_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            let directory = Path::new(GROUPS).join(controllers.trim_start_matches("name="));
            let is_own = path != "/";
            is_own.then(|| directory.join(path.trim_start_matches('/')))
        });
        Ok(groups.filter(|group| group.is_dir()).collect())
    }
}

/// The proportional set size in KiB.
fn pss(process: &Path) -> anyhow::Result<f64> {
    let file = process.join("smaps_rollup");
    let text =
        fs::read_to_string(&file).with_context(|| format!("failed to read {}", file.display()))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.context("smaps_rollup has Pss")?.parse().context("Pss is a number")
}
