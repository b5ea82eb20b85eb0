//! The handle: starts a stand-in and ends it when dropped. Synchronous; `control` has what it can
//! be told and asked.

mod control;

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::options::Options;
use crate::route::Scanners;
use crate::scan;
use crate::server::{BACKLOG, Service, Switch, bind, listen};
use crate::world::{Half, Shared, State};

const SEEDED: &str = ".ignition-seed-complete";

/// A running stand-in.
pub struct Gateway {
    shared: Arc<Shared>,
    plain: Option<SocketAddr>,
    tls: Option<SocketAddr>,
    authority_pem: Option<String>,
    switches: Vec<UnboundedSender<Switch>>,
    runtime: Option<Runtime>,
    scanners: Option<Scanners>,
    stops: Vec<Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

impl Gateway {
    /// Starts a stand-in; when this returns it answers, and what is in the data directory is
    /// loaded.
    pub fn start(options: Options) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("fake-gateway")
            .enable_all()
            .build()?;
        let shared = Arc::new(Shared::new(options));
        if shared.options.state == State::Running {
            enter_running(&shared)?;
        }
        let mut stops = Vec::new();
        let mut threads = Vec::new();
        let mut scanner = |half| {
            let (asks, asked) = channel();
            let (stop, stopped) = channel();
            stops.push(stop);
            threads.push(scanner(&shared, half, asked, stopped)?);
            io::Result::Ok(asks)
        };
        let scanners = [scanner(Half::Projects)?, scanner(Half::Config)?];
        let mut gateway = Self {
            shared,
            plain: None,
            tls: None,
            authority_pem: None,
            switches: Vec::new(),
            runtime: Some(runtime),
            scanners: Some(scanners),
            stops,
            threads,
        };
        gateway.open_ports()?;
        Ok(gateway)
    }

    /// Returns the address of the plain port, or of the TLS port if there is no other.
    pub fn url(&self) -> String {
        match self.plain {
            Some(plain) => format!("http://{plain}"),
            None => self.tls_url(),
        }
    }

    /// Returns the address of the TLS port, by name; empty if there is none.
    pub fn tls_url(&self) -> String {
        self.tls.map_or_else(String::new, |tls| format!("https://localhost:{}", tls.port()))
    }

    /// Returns the plain port; 0 if there is none.
    pub fn plain_port(&self) -> u16 {
        self.plain.map_or(0, |plain| plain.port())
    }

    /// Returns the TLS port; 0 if there is none.
    pub fn tls_port(&self) -> u16 {
        self.tls.map_or(0, |tls| tls.port())
    }

    /// Returns the authority that signed the certificate of the TLS port, as PEM.
    pub fn authority_pem(&self) -> Option<&str> {
        self.authority_pem.as_deref()
    }
}

impl Gateway {
    fn open_ports(&mut self) -> io::Result<()> {
        if let Some(at) = self.shared.options.plain {
            let service = self.service();
            self.plain = Some(self.open(at, service)?);
        }
        if let Some(at) = self.shared.options.tls {
            let service = self.tls_service()?;
            self.tls = Some(self.open(at, service)?);
        }
        Ok(())
    }

    fn service(&self) -> Service {
        Service {
            shared: Arc::clone(&self.shared),
            scanners: self
                .scanners
                .clone()
                .expect("scanners are there until the handle is dropped"),
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    #[cfg(feature = "tls")]
    fn tls_service(&mut self) -> io::Result<Service> {
        let identity = if self.shared.options.is_self_signed {
            crate::tls::Identity::generate_self_signed()?
        } else {
            crate::tls::Identity::generate()?
        };
        self.authority_pem = Some(identity.authority_pem);
        Ok(Service { tls: Some(identity.acceptor), ..self.service() })
    }

    #[cfg(not(feature = "tls"))]
    #[expect(clippy::unused_self, reason = "the same call with and without the feature")]
    fn tls_service(&self) -> io::Result<Service> {
        Err(io::Error::other("built without the feature `tls`"))
    }

    fn open(&mut self, at: SocketAddr, service: Service) -> io::Result<SocketAddr> {
        let runtime =
            self.runtime.as_ref().expect("the runtime is there until the handle is dropped");
        let _runtime = runtime.enter();
        // Whoever has a port that was asked for by its number would share it with us unasked.
        drop(std::net::TcpListener::bind(at)?);
        let place = bind(at)?;
        let at = place.local_addr()?;
        let listener = bind(at)?.listen(BACKLOG)?;
        let (switch, switched) = unbounded_channel();
        self.switches.push(switch);
        runtime.spawn(listen(service, (place, listener), switched));
        if self.shared.options.state == State::Down {
            self.set(State::Down);
        }
        Ok(at)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.switches.clear();
        self.stops.clear();
        if let Some(runtime) = self.runtime.take() {
            // Calls hold senders to the scan threads: they must be gone before the threads can end.
            runtime.shutdown_timeout(Duration::from_secs(5));
        }
        self.scanners = None;
        for thread in self.threads.drain(..) {
            // A scan that panicked has already failed the test that looks at it.
            drop(thread.join());
        }
    }
}

/// Loads everything, then answers: what a gateway does at the end of a start or of a commissioning.
fn enter_running(shared: &Shared) -> io::Result<()> {
    if let Some(data) = &shared.options.data {
        seed(shared, data)?;
    }
    for half in Half::ALL {
        scan::boot(shared, half);
    }
    shared.change(|world| world.state = State::Running);
    Ok(())
}

/// Writes the seed over whatever is there, once in the life of a data directory.
fn seed(shared: &Shared, data: &Path) -> io::Result<()> {
    if shared.options.seed.is_empty() || data.join(SEEDED).exists() {
        return Ok(());
    }
    for (path, content) in &shared.options.seed {
        let at = data.join(path);
        at.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::write(at, content)?;
    }
    std::fs::write(data.join(SEEDED), b"")
}

fn scanner(
    shared: &Arc<Shared>,
    half: Half,
    asked: Receiver<scan::Requested>,
    stopped: Receiver<()>,
) -> io::Result<JoinHandle<()>> {
    let shared = Arc::clone(shared);
    std::thread::Builder::new()
        .name(format!("scan-{}", half.name()))
        .spawn(move || scan::run(&shared, half, &asked, &stopped))
}
