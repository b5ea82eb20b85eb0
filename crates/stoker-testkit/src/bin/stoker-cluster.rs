//! A throwaway Kubernetes: holds the one that tests share, or starts one for a person.

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use stoker_testkit::cluster::{self, Cluster, Kind};
use stoker_testkit::node::{self, Node};
use stoker_testkit::program::{self, Program};
use stoker_testkit::quickstart::{self, Quickstart};
use tokio::signal::unix::{SignalKind, signal};

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
        /// With Stoker's images and a git server, for docs/quickstart.md
        #[arg(long, requires = "node")]
        quickstart: bool,
        /// With Stoker installed, a git server, a gateway and a GatewaySync
        #[arg(long, requires = "node", conflicts_with = "quickstart")]
        stoker: bool,
    },
    /// Find or build every program of a cluster, and nothing else
    Prepare {
        /// With those of a real node
        #[arg(long)]
        node: bool,
    },
    /// Print where a program of the cluster is, such as `helm`; build it first if no place has it
    #[command(hide = true)]
    Locate { program: String },
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

/// What a person finds on the node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Quickstart,
    Stoker,
}

fn kind(node: bool) -> Kind {
    if node { Kind::Node } else { Kind::ControlPlane }
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Up { quickstart: true, .. } => up_with_node(Content::Quickstart),
        Command::Up { stoker: true, .. } => up_with_node(Content::Stoker),
        Command::Up { node, .. } => up(kind(node)),
        Command::Prepare { node } => Ok(kind(node).prepare()?),
        Command::Locate { program } => locate(&program),
        Command::Hold => hold(),
        Command::Keep { node, directory } => cluster::keep(kind(node), &directory),
        Command::Node { directory } => node::run_inside(&directory),
    }
}

fn locate(name: &str) -> anyhow::Result<()> {
    let program = Program::find(name).with_context(|| format!("there is no program {name:?}"))?;
    writeln!(io::stdout(), "{}", program::locate(program)?.display())?;
    Ok(())
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

/// A node for a person: what the quickstart starts from, or where its fourth section ends.
fn up_with_node(content: Content) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // From now on Ctrl-C ends the commands that are running, and then us, in order.
    let _inside = runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let node = Node::required().map_err(anyhow::Error::msg)?;
    let quickstart = Quickstart::begin(&node, quickstart::sample());
    if content == Content::Stoker {
        for (number, section) in (1..).zip(quickstart::sections(1..=4)) {
            writeln!(io::stderr(), "{}", section.title)?;
            quickstart.try_run(number..=number).map_err(anyhow::Error::msg)?;
        }
    }
    greet(&quickstart, content)?;
    runtime.block_on(async {
        tokio::select! {
            _ = interrupt.recv() => (),
            _ = terminate.recv() => (),
        }
    });
    Ok(())
}

fn greet(quickstart: &Quickstart<'_>, content: Content) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "cluster is up; in another terminal, from the root of the checkout:\n")?;
    writeln!(out, "  . {}\n", quickstart.environment().display())?;
    match content {
        Content::Quickstart => writeln!(out, "Then follow docs/quickstart.md, from section 1 on.")?,
        Content::Stoker => {
            let commit = "git clone $REPO plant && (cd plant && date > projects/line-1/note.txt \
                          && git add . && git commit -m 'Add a note' && git push)";
            writeln!(out, "Then try:\n\n  kubectl get gs -A\n  {commit}")?;
            writeln!(out, "  kubectl get gs -A --watch\n")?;
        }
    }
    writeln!(out, "Ctrl-C ends it and leaves nothing behind.")?;
    out.flush()
}
