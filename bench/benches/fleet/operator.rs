//! The operator under measurement.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::process::Signal;
use stoker_bench::cgroup::Cgroup;
use stoker_bench::program::Program;
use stoker_testkit::process::{self, Guarded};

/// The image of agents, so that no pod looks as if it needed a restart.
pub(crate) const AGENT_IMAGE: &str = "stoker-agent:test";
/// The namespace of the operator.
pub(crate) const NAMESPACE: &str = "default";
const ENDS_WITHIN: Duration = Duration::from_secs(10);
const READY_WITHIN: Duration = Duration::from_mins(2);

/// What the operator is started by.
#[derive(Clone, Copy)]
pub(crate) enum Shell<'a> {
    /// Nothing.
    None,
    /// A shell that enters a control group.
    Within(&'a Cgroup),
}

/// A running operator. It ends as one that is restarted does, and hands its Lease over.
pub(crate) struct Operator(Guarded);

impl Drop for Operator {
    fn drop(&mut self) {
        // One that does not end is killed.
        self.0.signal(Signal::TERM).ok();
        let started = Instant::now();
        while matches!(self.0.try_wait(), Ok(None)) && started.elapsed() < ENDS_WITHIN {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Operator {
    /// Starts it; `mode` is what `--mode` says.
    pub(crate) fn start(
        program: &Program,
        shell: Shell<'_>,
        kubeconfig: &Path,
        mode: &str,
        log: &Path,
    ) -> anyhow::Result<Self> {
        let mut command = match shell {
            Shell::None => process::command(program.path())?,
            Shell::Within(limit) => {
                let mut command = process::command("/bin/sh")?;
                command.args(["-c", "echo 0 > \"$0\" && exec \"$@\""]);
                command.arg(limit.processes()).arg(program.path());
                command
            }
        };
        command.args([&format!("--mode={mode}"), "--log-format=text", "--leader-elect=true"]);
        command.args(["--allow-loopback-git", "--receiver-insecure"]);
        command.arg(format!("--namespace={NAMESPACE}"));
        command.args(["--metrics-bind-address=0", "--health-probe-bind-address=0"]);
        // Ports of the machine's choice: other tests run beside this.
        let ports: [u16; 2] = free_ports()?;
        command.arg(format!("--webhook-port={}", ports[0]));
        command.arg(format!("--receiver-port={}", ports[1]));
        command.arg(format!("--default-agent-image={AGENT_IMAGE}"));
        command.env("KUBECONFIG", kubeconfig).stdout(Stdio::null());
        let log = fs::File::options().create(true).append(true).open(log)?;
        command.stderr(log);
        Ok(Self(Guarded::spawn(command).context("failed to start the operator")?))
    }

    /// The memory in use, and the most that ever was, in MiB.
    pub(crate) fn memory(&self) -> anyhow::Result<(f64, f64)> {
        let started = Instant::now();
        loop {
            let pid = self.0.program_pid().context("the operator has ended")?;
            let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
            let field = |name: &str| -> Option<f64> {
                let line = status.lines().find(|line| line.starts_with(name))?;
                Some(line.split_ascii_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
            };
            if let (Some(now), Some(peak)) = (field("VmRSS:"), field("VmHWM:")) {
                return Ok((now, peak));
            }
            anyhow::ensure!(started.elapsed() < READY_WITHIN, "the operator shows no memory");
        }
    }
}

fn free_ports<const N: usize>() -> anyhow::Result<[u16; N]> {
    let mut held = Vec::new();
    let mut ports = [0; N];
    for port in &mut ports {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        *port = listener.local_addr()?.port();
        held.push(listener);
    }
    Ok(ports)
}
