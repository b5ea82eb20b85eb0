//! A throwaway cluster: for a person, and for a test run to hold on to.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;

use crate::{debian, image, step};

/// The program that holds clusters.
const PROGRAM: &str = "stoker-cluster";

/// Flags of `cargo xtask cluster`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// With a real node (kubelet, containerd, DNS); needs root
    #[arg(long)]
    node: bool,
    /// With Stoker's images and a git server on the node: what docs/quickstart.md starts from
    #[arg(long, requires = "node")]
    quickstart: bool,
    /// With Stoker installed, a git server, a gateway and a GatewaySync
    #[arg(long, requires = "node", conflicts_with = "quickstart")]
    stoker: bool,
}

/// Starts a cluster, says how to reach it, and keeps it until Ctrl-C.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if arguments.node {
        debian::install_missing()?;
    }
    build()?;
    let mut command = program("up")?;
    command.args(arguments.node.then_some("--node"));
    if arguments.quickstart || arguments.stoker {
        step::shown(step::cargo().args(["build", "--quiet", "--workspace", "--bin", "stoker"]))?;
        image::for_tests()?;
        command.arg(if arguments.stoker { "--stoker" } else { "--quickstart" });
        // Tests of this checkout install Stoker on their node, too; this one is a person's.
        if std::env::var_os("STOKER_CLUSTER").is_none() {
            command.env("STOKER_CLUSTER", "stoker");
        }
    }
    Err(command.exec()).context("failed to start the cluster")
}

/// Builds the program that knows the cluster.
pub(crate) fn build() -> anyhow::Result<()> {
    step::shown(step::cargo().args(["build", "--quiet", "--workspace", "--bin", PROGRAM]))
}

/// Finds Helm, or builds it.
pub(crate) fn helm() -> anyhow::Result<PathBuf> {
    let path = step::output(program("locate")?.arg("helm"))?;
    Ok(path.trim_end().into())
}

/// Builds what a cluster consists of, as far as it is not there yet.
pub(crate) fn prepare() -> anyhow::Result<()> {
    step::shown(program("prepare")?.arg("--node"))
}

/// Keeps the run's clusters up between test binaries; they go when this value, or this process,
/// does.
#[derive(Debug)]
pub(crate) struct Hold {
    child: Child,
}

impl Hold {
    /// Starts to hold.
    pub(crate) fn begin() -> anyhow::Result<Self> {
        let mut command = program("hold")?;
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        Ok(Self { child: command.spawn().context("failed to start holding the cluster")? })
    }
}

impl Drop for Hold {
    /// The holder reads its standard input to the end, which is here.
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().ok();
    }
}

/// Cargo puts it beside this program.
fn program(command: &str) -> anyhow::Result<Command> {
    let own = std::env::current_exe().context("failed to find this program")?;
    let mut program = Command::new(own.with_file_name(PROGRAM));
    program.arg(command);
    Ok(program)
}
