//! Wakes `watch` before its interval is over: on a request to its local endpoint.

mod origin_check;
mod server;

use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use stoker_api::condition::Reason;
use stoker_run::Cancel;

use crate::failure::Failure;

/// How often a wait checks for cancellation.
const GLANCE: Duration = Duration::from_millis(50);

/// The waiting side.
#[derive(Debug)]
pub(crate) struct Trigger {
    asked: Receiver<()>,
    /// Kept, so that waiting works without an endpoint, too.
    sender: SyncSender<()>,
}

/// The asking side of an endpoint.
#[derive(Debug, Clone)]
struct Endpoint {
    listened: SocketAddr,
    sender: SyncSender<()>,
}

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Woken {
    /// The time is over.
    Time,
    Request,
    /// The program is to end.
    Cancelled,
}

impl Trigger {
    pub(crate) fn new() -> Self {
        // One waiting request is as good as many: the next sync sees everything.
        let (sender, asked) = sync_channel(1);
        Self { asked, sender }
    }

    pub(crate) fn sender(&self) -> SyncSender<()> {
        self.sender.clone()
    }

    /// Serves `POST /sync` and returns the address it took.
    pub(crate) fn listen(&self, address: SocketAddr) -> Result<SocketAddr, Failure> {
        let failed = |error: std::io::Error| {
            let failure = Failure::world(Reason::ListenFailed, &error);
            let message = format!("failed to listen on {address}: {}", failure.message);
            Failure { message, ..failure }.hint("choose another address with --listen")
        };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let taken = listener.local_addr().map_err(failed)?;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let endpoint = Endpoint { listened: taken, sender: self.sender() };
        let router = Router::new().route("/sync", post(accept)).with_state(endpoint);
        thread::spawn(move || {
            runtime.block_on(async move {
                if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                    server::serve(listener, router).await;
                }
            });
        });
        Ok(taken)
    }

    /// Waits this long, or until a request arrives.
    pub(crate) fn wait(&self, time: Duration, cancel: &Cancel) -> Woken {
        let started = Instant::now();
        loop {
            if cancel.is_cancelled() {
                return Woken::Cancelled;
            }
            let left = time.saturating_sub(started.elapsed());
            if left.is_zero() {
                return Woken::Time;
            }
            match self.asked.recv_timeout(left.min(GLANCE)) {
                Ok(()) => return Woken::Request,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    /// Lets a burst of events pass: waits until none came for a while, but no longer than `most`.
    pub(crate) fn settle(&self, quiet: Duration, most: Duration, cancel: &Cancel) {
        let started = Instant::now();
        while started.elapsed() < most && !cancel.is_cancelled() {
            if self.asked.recv_timeout(quiet).is_err() {
                return;
            }
        }
    }
}

async fn accept(State(endpoint): State<Endpoint>, headers: HeaderMap) -> (StatusCode, Json<Value>) {
    if let Err(refusal) = origin_check::check(&headers, endpoint.listened) {
        let words = json!({"accepted": false, "reason": refusal.to_string()});
        return (StatusCode::FORBIDDEN, Json(words));
    }
    endpoint.sender.try_send(()).ok(); // full means that a request waits already
    (StatusCode::ACCEPTED, Json(json!({"accepted": true})))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Somebody who never stops asking, until the test is over.
    fn settled(most: Duration, cancel: &Cancel) {
        let trigger = Trigger::new();
        let sender = trigger.sender();
        thread::spawn(move || while sender.send(()).is_ok() {});
        trigger.settle(Duration::from_mins(1), most, cancel);
    }

    #[test]
    fn a_burst_without_an_end_is_not_waited_for() {
        settled(Duration::from_millis(20), &Cancel::default());
    }

    #[test]
    fn a_burst_ends_with_the_program() {
        let cancel = Cancel::default();
        cancel.cancel();
        settled(Duration::from_mins(1), &cancel);
    }
}
