//! The processes of a cluster: each with a log of its own, none of which outlives its starter.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Why a component did not come up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The program could not be started at all.
    #[error("failed to start {name}")]
    Start { name: String, source: io::Error },
    /// A signal could not be sent to a running one.
    #[error("failed to signal {name}")]
    Kill { name: String, source: io::Error },
    /// There is none of this name.
    #[error("the cluster has no component {name:?}")]
    Unknown { name: String },
    /// It started and ended again.
    #[error("{name} ended while the cluster came up; its log ends with:\n{log}")]
    Died { name: String, log: String },
    /// It runs, but what was waited for did not happen.
    #[error("{what} did not happen within {seconds} s; logs are in {}", directory.display())]
    Late { what: String, seconds: u64, directory: PathBuf },
}

/// The running processes of one cluster, in the order of their start.
#[derive(Debug)]
pub(crate) struct Components {
    directory: PathBuf,
    running: Vec<Component>,
}

#[derive(Debug)]
struct Component {
    name: String,
    command: Command,
    child: Child,
}

impl Components {
    /// Logs go to `<directory>/<name>.log`.
    pub(crate) fn in_directory(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), running: Vec::new() }
    }

    /// Starts a component. It is killed when the calling *thread* ends, however that ends: call
    /// this from a thread that lives as long as the cluster.
    pub(crate) fn start(&mut self, name: &str, command: &Command) -> Result<(), Error> {
        let failed = |source| Error::Start { name: name.to_owned(), source };
        let log =
            File::options().create(true).append(true).open(self.log_of(name)).map_err(failed)?;
        let mut command = tied(command);
        command
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(failed)?)
            .stderr(log);
        let child = command.spawn().map_err(failed)?;
        self.running.push(Component { name: name.to_owned(), command, child });
        Ok(())
    }

    /// Kills a component and returns when it is gone, its ports free for [`Self::start_again`].
    pub(crate) fn kill(&mut self, name: &str) -> Result<(), Error> {
        let child = &mut self.find(name)?.child;
        child.kill().map_err(|source| Error::Kill { name: name.to_owned(), source })?;
        // An error means that someone else has reaped it, which is as good.
        while matches!(child.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Starts a component with the command that started it first.
    pub(crate) fn start_again(&mut self, name: &str) -> Result<(), Error> {
        let component = self.find(name)?;
        component.child = component
            .command
            .spawn()
            .map_err(|source| Error::Start { name: name.to_owned(), source })?;
        Ok(())
    }

    /// Sends a signal to a component, such as SIGSTOP.
    pub(crate) fn signal(&mut self, name: &str, signal: Signal) -> Result<(), Error> {
        let pid = i32::try_from(self.find(name)?.child.id()).ok().and_then(Pid::from_raw);
        let sent = pid.map_or(Err(io::ErrorKind::NotFound.into()), |pid| {
            kill_process(pid, signal).map_err(io::Error::from)
        });
        sent.map_err(|source| Error::Kill { name: name.to_owned(), source })
    }

    /// The process id of a component, as this process sees it.
    pub(crate) fn pid(&self, name: &str) -> Option<u32> {
        self.running.iter().find(|component| component.name == name).map(|found| found.child.id())
    }

    fn find(&mut self, name: &str) -> Result<&mut Component, Error> {
        self.running
            .iter_mut()
            .find(|component| component.name == name)
            .ok_or_else(|| Error::Unknown { name: name.to_owned() })
    }

    /// Polls until `done`, giving up early when a component has ended.
    pub(crate) fn wait_until(
        &mut self,
        what: &str,
        limit: Duration,
        mut done: impl FnMut() -> bool,
    ) -> Result<(), Error> {
        let started = Instant::now();
        while !done() {
            self.check()?;
            if started.elapsed() > limit {
                let (what, directory) = (what.to_owned(), self.directory.clone());
                return Err(Error::Late { what, seconds: limit.as_secs(), directory });
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), Error> {
        let dead = self.running.iter_mut().find_map(|component| {
            matches!(component.child.try_wait(), Ok(Some(_))).then(|| component.name.clone())
        });
        let Some(name) = dead else { return Ok(()) };
        let text = fs::read_to_string(self.log_of(&name)).unwrap_or_default();
        Err(Error::Died { name, log: last_lines(&text, 15) })
    }

    fn log_of(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.log"))
    }
}

impl Drop for Components {
    /// In reverse, so that nothing complains about a server that went first.
    fn drop(&mut self) {
        for Component { child, .. } in self.running.iter_mut().rev() {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// The same command, killed by the kernel when the thread that starts it ends. Setting the death
/// signal needs code between fork and exec, which safe Rust can't run: setpriv does it for us.
fn tied(command: &Command) -> Command {
    let mut wrapped = Command::new("setpriv");
    wrapped.args(["--pdeathsig", "KILL", "--"]).arg(command.get_program()).args(command.get_args());
    for (key, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(key, value),
            None => wrapped.env_remove(key),
        };
    }
    wrapped
}

/// The end of a log, for a message.
pub(crate) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
