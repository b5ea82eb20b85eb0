//! `scan` and `scan-lock`.

use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};

use crate::lock::Hold;
use crate::reply::{self, Reply};
use crate::route::Call;
use crate::scan::{self, Requested};
use crate::world::Half;

/// How often a request that waits for the lock looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Starts a scan, or tells about the last one.
pub(crate) fn scan(call: &Call, half: Option<Half>) -> Reply {
    let Some(half) = half else { return reply::html(404) };
    match call.method {
        Method::GET => {
            let told = call.shared.world().half(half).told(Instant::now());
            reply::json(&json!({
                "scanActive": told.active,
                "lastScanTimestamp": told.timestamp,
                "lastScanDuration": told.duration_ms,
            }))
        }
        Method::POST => {
            scan::begin(&call.shared, half);
            match call.scanners[half as usize].send(Requested) {
                Ok(()) => reply::json(&json!({})),
                Err(_) => reply::html(503),
            }
        }
        _ => reply::html(405),
    }
}

/// Takes the lock, or tells who has it.
pub(crate) async fn lock(call: &Call, half: Option<Half>, holder: &str) -> Reply {
    let Some(half) = half else { return reply::html(404) };
    match call.method {
        Method::GET => held(call, half),
        Method::POST if call.body.is_empty() => reply::html(500),
        Method::POST => match timeouts(&call.body) {
            Some((acquire, hold)) => take(call, half, holder, (acquire, hold)).await,
            None => reply::html(400),
        },
        _ => reply::html(405),
    }
}

fn held(call: &Call, half: Half) -> Reply {
    let now = Instant::now();
    let world = call.shared.world();
    match world.half(half).lock.holder(now) {
        None => reply::empty(204),
        Some(hold) => {
            let left = (hold.until - now).as_secs_f64();
            reply::json(&json!({"heldBy": hold.by, "remainingSeconds": left}))
        }
    }
}

/// Another holder is a conflict at once; a scan that runs is waited for.
async fn take(call: &Call, half: Half, holder: &str, wait: (Duration, Duration)) -> Reply {
    let (acquire, hold) = wait;
    let deadline = Instant::now() + acquire;
    loop {
        let now = Instant::now();
        let taken = call.shared.change(|world| {
            let half = world.half_mut(half);
            if half.status.active {
                return None;
            }
            let wanted = Hold::new(holder, now, hold);
            Some(half.lock.take(wanted, now, call.shared.options.relock))
        });
        match taken {
            Some(true) => return reply::json(&json!({"heldBy": holder})),
            Some(false) => return reply::html(409),
            None if now >= deadline => return reply::html(408),
            None => tokio::time::sleep(LOOK_AGAIN).await,
        }
    }
}

fn timeouts(body: &[u8]) -> Option<(Duration, Duration)> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let seconds = |name: &str| body[name].as_u64().map(Duration::from_secs);
    Some((seconds("acquireTimeout")?, seconds("holdTimeout").filter(|hold| !hold.is_zero())?))
}
