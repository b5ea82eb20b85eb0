//! The one runtime behind all git servers, so that tests without async can use them.

use std::io;
use std::net::SocketAddr;
use std::sync::OnceLock;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use super::Error;

/// Returns the runtime of this process. It ends with the process; servers end with their values.
pub(super) fn runtime() -> Result<&'static Runtime, Error> {
    static RUNTIME: OnceLock<io::Result<Runtime>> = OnceLock::new();
    let build = || {
        Builder::new_multi_thread().worker_threads(2).thread_name("git-server").enable_all().build()
    };
    RUNTIME.get_or_init(build).as_ref().map_err(|error| Error::Listen {
        // The stored error stays where it is: every later caller gets the same words.
        source: io::Error::new(error.kind(), error.to_string()),
    })
}

/// Listens on a free port of loopback.
pub(super) fn listen() -> Result<(TcpListener, SocketAddr), Error> {
    let failed = |source| Error::Listen { source };
    let listener = runtime()?.block_on(TcpListener::bind("127.0.0.1:0")).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}
