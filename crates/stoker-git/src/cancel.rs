//! A flag that ends whatever git is doing for us.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tells running git operations to end; clones share the flag.
///
/// A cancelled operation ends its whole process group within a fraction of a second.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Ends every operation that was given this flag, now and later.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Says whether the flag is up.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
