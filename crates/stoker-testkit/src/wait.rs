//! Waiting for what others do in their own time.

use std::thread;
use std::time::{Duration, Instant};

/// Long for a crowded machine, and short for what would never happen.
const PATIENCE: Duration = Duration::from_mins(1);

/// Waits until it holds.
///
/// # Panics
///
/// If it does not within a minute.
#[track_caller]
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "in vain: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
