//! The process that holds a cluster: it lives as long as anyone is connected to its socket.
//!
//! # Flow
//! The first test process starts a keeper and connects; later ones, of the same or another test
//! binary, connect too. The kernel closes a connection however its process ends, so counting
//! connections is all the bookkeeping there is. When nobody has been connected for a few seconds
//! the keeper takes the cluster down and removes its directory.
//!
//! # Promises
//! Nothing survives the last test process, not even when it was killed. Nothing survives the keeper
//! either: its components carry a death signal, and a node lives in a process namespace of its own.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::Kind;
use super::component::Components;
use super::control_plane::{ControlPlane, Layout};
use crate::node::inside;

/// Long enough for cargo to start the next test binary.
const GRACE: Duration = Duration::from_secs(3);

/// What a keeper tells everyone who connects: how to reach the cluster, or why there is none.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Greeting {
    /// The cluster answers.
    Ready(Access),
    /// It did not come up.
    Failed(String),
}

/// How to reach a cluster that runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Access {
    /// A kubeconfig of `system:masters` that works from this machine's own network.
    pub(crate) kubeconfig: PathBuf,
    /// Logs, certificates, sockets.
    pub(crate) directory: PathBuf,
    /// The first process of the node's namespaces, where there is a node.
    pub(crate) init_pid: Option<u32>,
}

/// The places of one cluster, known to keeper and clients alike.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Everything that the cluster writes.
    pub(crate) directory: PathBuf,
    /// Held while someone starts, joins or ends the cluster.
    pub(crate) lock: PathBuf,
}

impl Place {
    pub(crate) fn at(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), lock: directory.with_extension("lock") }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.join("keeper.sock")
    }

    /// Takes the lock. Its file is removed by a keeper that ends, so having locked a file means
    /// something only if it is still the one that others would find.
    pub(crate) fn lock(&self) -> io::Result<File> {
        loop {
            let run = self.directory.parent().unwrap_or(&self.directory);
            fs::DirBuilder::new().recursive(true).mode(0o700).create(run)?;
            let file = match File::create(&self.lock) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                file => file?,
            };
            file.lock()?;
            let found = fs::metadata(&self.lock).map(|found| found.ino());
            if found.is_ok_and(|found| file.metadata().is_ok_and(|own| own.ino() == found)) {
                return Ok(file);
            }
        }
    }
}

#[derive(Debug, Default)]
struct Clients {
    connected: usize,
    greeting: Option<Greeting>,
}

type Shared = Arc<(Mutex<Clients>, Condvar)>;

/// Brings a cluster up and keeps it until nobody needs it.
pub fn keep(kind: Kind, directory: &Path) -> anyhow::Result<()> {
    let place = Place::at(directory);
    let listener = UnixListener::bind(place.socket()).context("failed to listen for tests")?;
    let shared = Shared::default();
    let acceptor = Arc::clone(&shared);
    thread::spawn(move || accept(&listener, &acceptor));

    let mut components = Components::in_directory(&place.directory);
    let result = bring_up(kind, &mut components, &place.directory);
    let failed = result.is_err();
    let greeting = match result {
        Ok(access) => Greeting::Ready(access),
        Err(error) => Greeting::Failed(format!("{error:#}")),
    };
    let (clients, changed) = &*shared;
    clients.lock().unwrap_or_else(PoisonError::into_inner).greeting = Some(greeting);
    changed.notify_all();
    let _last = wait_until_unused(&place, &shared)?;
    drop(components);
    if failed {
        return Ok(()); // the logs are all there is to look at
    }
    remove(&place.directory).context("failed to remove the cluster's directory")?;
    // While the lock is held: whoever waits for it notices that its file is gone and starts over.
    fs::remove_file(&place.lock).context("failed to remove the cluster's lock")?;
    if let Some(run) = place.directory.parent() {
        fs::remove_dir(run).ok(); // another cluster may be in it
    }
    Ok(())
}

/// Removes what a cluster leaves in the file system, one whose keeper was killed included.
pub(crate) fn remove(directory: &Path) -> io::Result<()> {
    inside::remove_cgroups(directory);
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn bring_up(kind: Kind, components: &mut Components, directory: &Path) -> anyhow::Result<Access> {
    let (kubeconfig, init_pid) = match kind {
        Kind::ControlPlane => {
            let layout = Layout { directory, address: [127, 0, 0, 1].into(), with_node: false };
            (ControlPlane::start(components, layout)?.kubeconfig, None)
        }
        Kind::Node => {
            let (kubeconfig, pid) = inside::enclose(components, directory)?;
            (kubeconfig, Some(pid))
        }
    };
    Ok(Access { kubeconfig, directory: directory.to_owned(), init_pid })
}

fn accept(listener: &UnixListener, shared: &Shared) {
    for stream in listener.incoming().flatten() {
        shared.0.lock().unwrap_or_else(PoisonError::into_inner).connected += 1;
        let shared = Arc::clone(shared);
        thread::spawn(move || {
            greet_and_hold(stream, &shared).ok();
            shared.0.lock().unwrap_or_else(PoisonError::into_inner).connected -= 1;
            shared.1.notify_all();
        });
    }
}

fn greet_and_hold(mut stream: UnixStream, shared: &Shared) -> io::Result<()> {
    let (clients, changed) = &**shared;
    let guard = changed
        .wait_while(clients.lock().unwrap_or_else(PoisonError::into_inner), |clients| {
            clients.greeting.is_none()
        })
        .unwrap_or_else(PoisonError::into_inner);
    let greeting = serde_json::to_string(&guard.greeting)?;
    drop(guard);
    writeln!(stream, "{greeting}")?;
    io::copy(&mut stream, &mut io::sink())?; // returns when the other side is gone
    Ok(())
}

/// Returns with the lock held, so that nobody can join a cluster that is on its way down.
fn wait_until_unused(place: &Place, shared: &Shared) -> anyhow::Result<File> {
    let lock = File::create(&place.lock).context("failed to open the cluster's lock")?;
    let (clients, changed) = &**shared;
    let connected = || clients.lock().unwrap_or_else(PoisonError::into_inner).connected;
    loop {
        let guard = changed
            .wait_while(clients.lock().unwrap_or_else(PoisonError::into_inner), |clients| {
                clients.connected > 0
            })
            .unwrap_or_else(PoisonError::into_inner);
        drop(guard);
        let idle = Instant::now();
        while connected() == 0 && idle.elapsed() < GRACE {
            thread::sleep(Duration::from_millis(50));
        }
        if connected() == 0 && lock.try_lock().is_ok() {
            if connected() == 0 {
                return Ok(lock);
            }
            lock.unlock().context("failed to let go of the cluster's lock")?;
        }
    }
}
