//! When the process is asked to end.
//!
//! The first SIGTERM or SIGINT asks; programs then finish what they have begun. Whether a second
//! signal ends the process at once is up to the program.

use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Says whether the process was asked to end. Clones see the same request.
#[derive(Debug, Clone)]
pub struct Shutdown(watch::Receiver<bool>);

/// Asks for the end of whatever holds the matching [`Shutdown`].
#[derive(Debug)]
pub struct Trigger(watch::Sender<bool>);

impl Shutdown {
    /// Returns a request that is made by [`Trigger::request`] or by dropping the trigger.
    pub fn manual() -> (Trigger, Self) {
        let (sender, receiver) = watch::channel(false);
        (Trigger(sender), Self(receiver))
    }

    /// Returns a request that is made by SIGTERM or SIGINT.
    ///
    /// # Errors
    /// When the process may not install a signal handler.
    pub fn on_signals() -> std::io::Result<Self> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let (trigger, shutdown) = Self::manual();
        tokio::spawn(async move {
            let name = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            };
            tracing::info!(signal = name, "shutting down");
            trigger.request();
        });
        Ok(shutdown)
    }

    /// Returns a request that is made this long after this one.
    #[must_use]
    pub fn later(self, delay: Duration) -> Self {
        if delay.is_zero() {
            return self;
        }
        let (trigger, shutdown) = Self::manual();
        tokio::spawn(async move {
            self.requested().await;
            tokio::time::sleep(delay).await;
            trigger.request();
        });
        shutdown
    }

    /// Waits until the end is requested.
    pub async fn requested(&self) {
        let mut receiver = self.0.clone();
        // An error means that the trigger was dropped, which is a request too.
        receiver.wait_for(|requested| *requested).await.ok();
    }

    /// Says whether the end was requested.
    pub fn is_requested(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }
}

impl Trigger {
    /// Requests the end.
    pub fn request(&self) {
        self.0.send_replace(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_clone_sees_the_request() {
        let (trigger, shutdown) = Shutdown::manual();
        let clone = shutdown.clone();
        assert!(!clone.is_requested());
        trigger.request();
        clone.requested().await;
        shutdown.requested().await;
        assert!(shutdown.is_requested());
    }

    #[tokio::test]
    async fn a_dropped_trigger_is_a_request() {
        let (trigger, shutdown) = Shutdown::manual();
        drop(trigger);
        shutdown.requested().await;
        assert!(shutdown.is_requested());
    }
}
