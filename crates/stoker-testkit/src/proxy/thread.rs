//! The thread that the proxy runs on.

use std::net::SocketAddr;
use std::sync::{Arc, mpsc};

use kube::Config;
use tokio::net::TcpSocket;
use tokio::runtime;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

use super::Error;
use super::serve::{self, Server};
use super::state::Shared;
use super::upstream::Upstream;

/// What the proxy's thread begins with. The runtime is made there, and ends there: a test that is
/// itself async could not drop it.
pub(super) struct Setup {
    pub(super) shared: Arc<Shared>,
    pub(super) upstream: Config,
    pub(super) tls: TlsAcceptor,
    pub(super) ready: mpsc::SyncSender<Result<SocketAddr, Error>>,
}

impl Setup {
    /// Serves until the other end of `stopped` is gone.
    pub(super) fn run(self, stopped: oneshot::Receiver<()>) {
        let Self { shared, upstream, tls, ready } = self;
        // Nobody hears the answer only if the test's thread is gone, and the proxy with it.
        let answer = |started| ready.send(started).unwrap_or_default();
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => return answer(Err(Error::Start(error))),
        };
        runtime.block_on(async {
            let (upstream, place, address) = match prepare(upstream) {
                Ok(prepared) => prepared,
                Err(error) => return answer(Err(error)),
            };
            answer(Ok(address));
            tokio::select! {
                _ = stopped => {}
                end = Server { shared, upstream, tls, address }.run() => {
                    end.expect("the proxy's own port can be listened on");
                }
            }
            drop(place);
        });
    }
}

/// Finds a port, and holds it through outages, when nothing listens on it.
fn prepare(upstream: Config) -> Result<(Upstream, TcpSocket, SocketAddr), Error> {
    let place = serve::bind(([127, 0, 0, 1], 0).into()).map_err(Error::Start)?;
    let address = place.local_addr().map_err(Error::Start)?;
    Ok((Upstream::new(upstream)?, place, address))
}
