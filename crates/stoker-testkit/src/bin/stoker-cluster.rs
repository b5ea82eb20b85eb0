//! A throwaway Kubernetes: holds the one that tests share, or starts one for a person.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use stoker_testkit::cluster::{self, Cluster, Kind};
use stoker_testkit::node::{self, Node};

#[derive(Parser)]
#[command(about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start a cluster (or join the running one) and keep it until Ctrl-C
    Up {
        /// With a real node, which needs root
        #[arg(long)]
        node: bool,
    },
    /// Find or build every program of a cluster, and nothing else
    Prepare {
        /// With those of a real node
        #[arg(long)]
        node: bool,
    },
    /// Keep every kind of cluster that this machine can have until standard input ends
    #[command(hide = true)]
    Hold,
    /// Hold a cluster for whoever connects (started by tests)
    #[command(hide = true)]
    Keep {
        #[arg(long)]
        node: bool,
        directory: PathBuf,
    },
    /// The inside of a node (started by `keep`)
    #[command(hide = true)]
    Node { directory: PathBuf },
}

fn kind(node: bool) -> Kind {
    if node { Kind::Node } else { Kind::ControlPlane }
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Up { node } => up(kind(node)),
        Command::Prepare { node } => Ok(kind(node).prepare()?),
        Command::Hold => hold(),
        Command::Keep { node, directory } => cluster::keep(kind(node), &directory),
        Command::Node { directory } => node::run_inside(&directory),
    }
}

/// What a test run holds on to between its binaries. A cluster that does not come up is not told
/// here: the first test that asks for it says why.
fn hold() -> anyhow::Result<()> {
    let clusters = std::thread::spawn(|| {
        let plane = Cluster::connect(Kind::ControlPlane).ok();
        (plane, Node::if_possible())
    });
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    drop(clusters);
    Ok(())
}

fn up(kind: Kind) -> anyhow::Result<()> {
    let started = std::time::Instant::now();
    let cluster = Cluster::connect(kind)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut out = io::stdout().lock();
    let kubeconfig = cluster.kubeconfig().display();
    writeln!(
        out,
        "cluster is up after {:.1} s; logs are in {}",
        started.elapsed().as_secs_f32(),
        cluster.directory().display()
    )?;
    writeln!(
        out,
        "\n  export KUBECONFIG={kubeconfig}\n  {} get namespaces\n",
        cluster.kubectl().get_program().display()
    )?;
    writeln!(out, "Ctrl-C ends it and leaves nothing behind.")?;
    out.flush()?;
    runtime.block_on(tokio::signal::ctrl_c())?;
    Ok(())
}
