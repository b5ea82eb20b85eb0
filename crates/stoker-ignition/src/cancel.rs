//! How a caller says that it no longer waits.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often a call that waits looks whether it is still wanted.
const LOOK_AGAIN: Duration = Duration::from_millis(25);

/// Asked again and again while a call waits; once it says yes, the call ends with `Cancelled`.
#[derive(Clone)]
pub struct Cancel(Arc<dyn Fn() -> bool + Send + Sync>);

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cancel({})", self.is_cancelled())
    }
}

impl Cancel {
    /// Never cancels.
    pub fn never() -> Self {
        Self::when(|| false)
    }

    /// Cancels once `flag` is true.
    pub fn flag(flag: Arc<AtomicBool>) -> Self {
        Self::when(move || flag.load(Ordering::Relaxed))
    }

    /// Cancels once `asked` returns true. It is asked often: it must not block.
    pub fn when(asked: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(asked))
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        (self.0)()
    }

    /// Waits until it is cancelled.
    pub(crate) async fn cancelled(&self) {
        while !self.is_cancelled() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}
