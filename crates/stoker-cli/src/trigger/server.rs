//! Serves the endpoint: few connections at a time, each for a short time. Further clients wait in
//! the kernel's queue, where they cost a run neither memory nor descriptors.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

const PLACES: usize = 16;
/// How long a request may take to arrive.
const HEAD: Duration = Duration::from_secs(2);
/// How long a connection may last.
const WHOLE: Duration = Duration::from_secs(5);
/// How long to wait when there are no descriptors left.
const PAUSE: Duration = Duration::from_millis(200);

/// Serves until the program ends.
pub(super) async fn serve(listener: TcpListener, router: Router) {
    let places = Arc::new(Semaphore::new(PLACES));
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        let service = TowerToHyperService::new(router.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            timeout(WHOLE, connection).await.ok();
            drop(place);
        });
    }
}
