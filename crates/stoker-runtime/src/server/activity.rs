//! When a connection was last used.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::Limits;

/// Counts the open requests of one connection.
#[derive(Debug)]
pub(crate) struct Activity {
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    open: usize,
    since: Instant,
    idle_for: Duration,
}

/// One open request.
pub(crate) struct Busy(Arc<Activity>);

impl Activity {
    pub(crate) fn new(limits: Limits) -> Self {
        let state = State { open: 0, since: Instant::now(), idle_for: limits.first_request };
        Self { limits, state: Mutex::new(state) }
    }

    /// Marks a request as open until the returned value is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> Busy {
        self.change(|state| {
            state.open += 1;
            state.idle_for = self.limits.idle;
        });
        Busy(Arc::clone(self))
    }

    /// Waits until the connection has been idle for too long.
    pub(crate) async fn idle(&self) {
        loop {
            let State { open, since, idle_for } = self.change(|state| *state);
            let until = if open == 0 { since } else { Instant::now() } + idle_for;
            if until <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.change(|state| {
            state.open -= 1;
            state.since = Instant::now();
        });
    }
}
