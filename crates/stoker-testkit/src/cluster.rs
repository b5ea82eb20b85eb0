//! A real Kubernetes control plane, started once per test run and shared by all of its tests.
//!
//! RBAC, admission webhooks, CEL, service-account tokens, certificate signing and garbage
//! collection work; there is no node (see [`crate::node`]). Any user can run it.

mod component;
mod control_plane;
mod keeper;
mod namespace;
mod pki;
mod token;
mod user;

use std::env;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use keeper::{Access, Greeting, Place};
use kube::config::{KubeConfigOptions, Kubeconfig};

pub(crate) use component::Components;
pub(crate) use control_plane::{ControlPlane, Layout, POD_RANGE};
pub use keeper::keep;
pub use namespace::Namespace;
pub(crate) use pki::{Identity, Pki};
pub use user::User;

use crate::program::{self, Program};
use crate::state;

/// What a cluster consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// etcd, API server and controllers on loopback; any user.
    ControlPlane,
    /// The same and a real node, in namespaces of their own; needs root.
    Node,
}

/// Why there is no cluster.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "a field is named after what it holds")]
pub enum Error {
    /// A directory, lock or socket of ours could not be used.
    #[error("failed to {doing} {}", path.display())]
    State { doing: &'static str, path: PathBuf, source: io::Error },
    /// A program is missing and can't be built.
    #[error("failed to get the programs of the cluster")]
    Program(#[source] program::Error),
    /// The keeper said why.
    #[error("the cluster did not come up: {reason}")]
    Failed { reason: String },
    /// The keeper's answer makes no sense.
    #[error("failed to read what the cluster's keeper said")]
    Greeting(#[source] serde_json::Error),
}

/// A connection to a running cluster, which lives at least as long as this value.
#[derive(Debug)]
pub struct Cluster {
    access: Access,
    kubectl: PathBuf,
    _lease: BufReader<UnixStream>,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::ControlPlane => "plane",
            Self::Node => "node",
        }
    }

    fn programs(self) -> impl Iterator<Item = Program> {
        let node: &[Program] = if self == Self::Node { Program::NODE } else { &[] };
        Program::CONTROL_PLANE.iter().chain(node).copied()
    }

    /// One cluster per checkout and kind, because two checkouts may disagree about the CRDs, and
    /// one more for everyone who sets `STOKER_CLUSTER` to a name of their own.
    fn place(self) -> Place {
        let mut owner = DefaultHasher::new();
        env!("CARGO_MANIFEST_DIR").hash(&mut owner);
        env::var_os("STOKER_CLUSTER").hash(&mut owner);
        env::var_os("STOKER_KUBERNETES").hash(&mut owner);
        Place::at(&state::run().join(format!("{:x}-{}", owner.finish(), self.name())))
    }

    /// Finds or builds everything that a cluster of this kind runs, so that starting it is quick.
    pub fn prepare(self) -> Result<(), Error> {
        self.programs()
            .try_for_each(|program| program::locate(program).map(drop).map_err(Error::Program))
    }
}

impl Cluster {
    /// The control plane of this test run, started on first use.
    ///
    /// # Panics
    /// When it can't be had: every test that asks for it would fail, so the first one says why.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(|| match Self::connect(Kind::ControlPlane) {
            Ok(cluster) => cluster,
            Err(error) => panic!("{}", crate::chain(&error)),
        })
    }

    /// Joins the running cluster of this kind, or starts it.
    pub fn connect(kind: Kind) -> Result<Self, Error> {
        kind.prepare()?;
        let place = kind.place();
        let mut lease = BufReader::new(join_or_start(kind, &place)?);
        let mut line = String::new();
        lease.read_line(&mut line).map_err(state("read from", &place.directory))?;
        match serde_json::from_str::<Greeting>(&line).map_err(Error::Greeting)? {
            Greeting::Ready(access) => {
                let kubectl = program::locate(Program::Kubectl).map_err(Error::Program)?;
                Ok(Self { access, kubectl, _lease: lease })
            }
            Greeting::Failed(reason) => Err(Error::Failed { reason }),
        }
    }

    /// A kubeconfig with all rights.
    pub fn kubeconfig(&self) -> &Path {
        &self.access.kubeconfig
    }

    /// Logs, certificates and sockets of the cluster.
    pub fn directory(&self) -> &Path {
        &self.access.directory
    }

    /// `kubectl` with all rights.
    pub fn kubectl(&self) -> Command {
        let mut command = Command::new(&self.kubectl);
        command.arg("--kubeconfig").arg(self.kubeconfig());
        command
    }

    /// `helm` with all rights, its settings and caches in the cluster's directory.
    ///
    /// # Panics
    /// When this machine has no Helm and can't build it.
    pub fn helm(&self) -> Command {
        let program = program::locate(Program::Helm).unwrap_or_else(|error| panic!("{error}"));
        let mut command = Command::new(program);
        command.env("KUBECONFIG", self.kubeconfig());
        for kind in ["CACHE", "CONFIG", "DATA"] {
            let directory = self.directory().join("helm").join(kind.to_lowercase());
            command.env(format!("HELM_{kind}_HOME"), directory);
        }
        command
    }

    /// Client configuration with all rights.
    pub async fn config(&self) -> kube::Config {
        config_from(self.kubeconfig()).await
    }

    /// A client with all rights.
    pub async fn client(&self) -> kube::Client {
        client_from(self.config().await)
    }

    pub(crate) fn init_pid(&self) -> Option<u32> {
        self.access.init_pid
    }
}

pub(crate) async fn config_from(kubeconfig: &Path) -> kube::Config {
    crate::install_crypto_provider();
    let file = Kubeconfig::read_from(kubeconfig).expect("we wrote this kubeconfig");
    kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .expect("its files are beside it")
}

pub(crate) fn client_from(config: kube::Config) -> kube::Client {
    kube::Client::try_from(config).expect("the certificates in it are ours")
}

fn state<'a>(doing: &'static str, path: &'a Path) -> impl Fn(io::Error) -> Error + 'a {
    move |source| Error::State { doing, path: path.to_owned(), source }
}

fn join_or_start(kind: Kind, place: &Place) -> Result<UnixStream, Error> {
    let _lock = place.lock().map_err(state("lock", &place.lock))?;
    if let Ok(stream) = UnixStream::connect(place.socket()) {
        return Ok(stream);
    }
    keeper::remove(&place.directory).map_err(state("remove", &place.directory))?;
    fs::create_dir(&place.directory).map_err(state("create", &place.directory))?;
    start_keeper(kind, place)?;
    let started = Instant::now();
    loop {
        match UnixStream::connect(place.socket()) {
            Err(_) if started.elapsed() < Duration::from_secs(10) => {
                thread::sleep(Duration::from_millis(10));
            }
            result => return result.map_err(state("connect to the keeper in", &place.directory)),
        }
    }
}

/// The keeper is in a process group of its own: Ctrl-C in the terminal ends the tests, and their
/// end ends the cluster, in order.
fn start_keeper(kind: Kind, place: &Place) -> Result<(), Error> {
    let log = place.directory.join("keeper.log");
    let output = File::create(&log).map_err(state("create", &log))?;
    let program = program();
    Command::new(&program)
        .arg("keep")
        .args((kind == Kind::Node).then_some("--node"))
        .arg(&place.directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(output)
        .process_group(0)
        .spawn()
        .map(drop)
        .map_err(state("start", &program))
}

/// `stoker-cluster` of the same build: beside this program, or one directory up for a test binary.
/// Testing the whole workspace builds it; when another package is tested alone it may be missing.
pub fn program() -> PathBuf {
    let own = env::current_exe().unwrap_or_default();
    let directory = own.parent().unwrap_or(Path::new("."));
    let built = if directory.ends_with("deps") { directory.parent() } else { Some(directory) };
    let program = built.unwrap_or(directory).join("stoker-cluster");
    if let (false, Some(cargo)) = (program.is_file(), env::var_os("CARGO")) {
        let arguments = ["build", "--quiet", "--workspace", "--bin", "stoker-cluster"];
        Command::new(cargo).args(arguments).stdout(Stdio::null()).status().ok();
    }
    program
}
