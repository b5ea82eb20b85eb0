//! Scans: one thread per half reads the data directory when asked, by itself now and then, and at
//! start.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::load::Snapshot;
use crate::resource;
use crate::world::{Half, ScanRecord, ScanStatus, Shared, State};

/// Asks the thread of one half for a scan; when the sender is gone, the thread ends.
pub(crate) struct Requested;

/// Runs until the senders of both channels are gone. `stop` never carries anything: it cuts waiting
/// short.
pub(crate) fn run(
    shared: &Arc<Shared>,
    half: Half,
    asked: &Receiver<Requested>,
    stop: &Receiver<()>,
) {
    // Without a period of its own it waits about for ever.
    let period = shared.options.auto_scan.unwrap_or(Duration::from_hours(24));
    loop {
        match asked.recv_timeout(period) {
            Ok(Requested) => shared.change(|world| world.half_mut(half).is_pending = false),
            Err(RecvTimeoutError::Timeout) if begin_own(shared, half) => {}
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let half_way = shared.options.scan_duration / 2;
        if stop.recv_timeout(half_way) == Err(RecvTimeoutError::Disconnected) {
            return;
        }
        let started = Instant::now();
        look(shared, half);
        if stop.recv_timeout(half_way) == Err(RecvTimeoutError::Disconnected) {
            return;
        }
        end(shared, half, started.elapsed() + shared.options.scan_duration);
    }
}

/// Marks the half as being scanned, and lets its lock go.
pub(crate) fn begin(shared: &Shared, half: Half) {
    let lag = shared.options.status_lag;
    shared.change(|world| {
        let half = world.half_mut(half);
        half.lock.release();
        half.is_pending = true;
        half.set_status(ScanStatus { active: true, ..half.status }, lag);
    });
}

/// Loads a half at once, as a gateway does while it starts.
pub(crate) fn boot(shared: &Shared, half: Half) {
    let started = Instant::now();
    look(shared, half);
    end(shared, half, started.elapsed());
}

/// A scan of the gateway's own waits while somebody holds the lock.
fn begin_own(shared: &Shared, half: Half) -> bool {
    let lag = shared.options.status_lag;
    shared.change(|world| {
        let is_running = world.state == State::Running;
        let half = world.half_mut(half);
        if !is_running || half.status.active || half.lock.holder(Instant::now()).is_some() {
            return false;
        }
        half.set_status(ScanStatus { active: true, ..half.status }, lag);
        true
    })
}

fn look(shared: &Shared, half: Half) {
    let Some(data) = &shared.options.data else { return };
    let snapshot = Snapshot::read(data, half);
    if shared.options.rewrites_resources {
        rewrite(shared, &snapshot);
    }
    shared.change(|world| {
        // The cache stays poisoned until the resource is gone from where it was.
        let prefix = format!("{}/", half.name());
        world
            .poisoned
            .retain(|path, _| !path.starts_with(&prefix) || snapshot.files.contains_key(path));
        let found = snapshot.poison.iter().map(|poison| (poison.path.clone(), poison.clone()));
        world.poisoned.extend(found);
        let (digest, files) = (snapshot.digest(), snapshot.files.len());
        world.scans.push(ScanRecord { half, digest, files });
        world.half_mut(half).snapshot = snapshot;
    });
}

/// The collection `external` is read-only to the gateway; everything else it may rewrite.
fn rewrite(shared: &Shared, snapshot: &Snapshot) {
    let Some(data) = &shared.options.data else { return };
    let own =
        snapshot.resources.keys().filter(|dir| !dir.starts_with("config/resources/external/"));
    for directory in own {
        // What was deleted since the scan can't be rewritten.
        drop(resource::rewrite(&data.join(directory), shared.now_ms()));
    }
}

fn end(shared: &Shared, half: Half, took: Duration) {
    let (lag, now) = (shared.options.status_lag, shared.now_ms());
    shared.change(|world| {
        let half = world.half_mut(half);
        // Two scans within one millisecond are still two scans.
        let later = half.status.timestamp.saturating_add(1);
        let timestamp = if half.status.timestamp == now { later } else { now };
        let duration_ms = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
        half.set_status(ScanStatus { active: half.is_pending, timestamp, duration_ms }, lag);
    });
}
