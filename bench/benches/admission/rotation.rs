//! The certificate is rotated twenty times under load, and no request fails.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use hyper::body::Bytes;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use rustls::ClientConfig;
use serde_json::json;
use stoker_bench::finding::{Bar, Finding, Unit};
use stoker_testkit::https::{Connection, trusting};
use tokio::task::JoinSet;

use crate::World;
use crate::load::send;
use crate::world::SECRET;

const CONNECTIONS: usize = 100;
const PER_SECOND: u32 = 500;
const ROTATIONS: usize = 20;
/// Of these, with a new CA.
const AUTHORITIES: usize = 2;
/// A pair of a new CA is served only after ten seconds.
const SETTLED: Duration = Duration::from_secs(13);
/// Another pair of the same CA is served at once.
const SWAPPED: Duration = Duration::from_millis(500);
/// Requests on one connection before the next handshake.
const KEPT: usize = 10;
const INTERVAL: Duration = Duration::from_millis(100);

/// What all clients share.
struct Shared {
    trusted: Mutex<Arc<ClientConfig>>,
    is_over: AtomicBool,
    answered: AtomicUsize,
    failed: Mutex<Vec<String>>,
}

/// Measures it.
pub(crate) async fn measure(world: &World) -> anyhow::Result<Vec<Finding>> {
    let shared = Arc::new(Shared {
        trusted: Mutex::new(trusting(&world.bundle().await?)?),
        is_over: AtomicBool::new(false),
        answered: AtomicUsize::new(0),
        failed: Mutex::default(),
    });
    let mut clients = JoinSet::new();
    for _ in 0..CONNECTIONS {
        clients.spawn(client(Arc::clone(&shared), world.port, world.review(true).into()));
    }
    let rotated = rotate(world, &shared).await;
    shared.is_over.store(true, Ordering::SeqCst);
    clients.join_all().await;
    rotated?;
    let failed = std::mem::take(&mut *lock(&shared.failed));
    if let Some(first) = failed.first() {
        eprintln!("first failure: {first}");
    }
    let answered = shared.answered.load(Ordering::SeqCst);
    let claim = format!("failures in {ROTATIONS} rotations under {PER_SECOND} requests/s");
    let bar = Bar { id: "rotation", claim, limit: 0.0, unit: Unit::Count };
    let count = u32::try_from(failed.len()).unwrap_or(u32::MAX);
    let measured = format!("{answered} requests, {AUTHORITIES} of the rotations with a new CA");
    Ok(vec![bar.judge(count.into(), measured)])
}

async fn rotate(world: &World, shared: &Shared) -> anyhow::Result<()> {
    let secrets: Api<Secret> = Api::namespaced(world.client.clone(), world.served.name());
    for number in 0..ROTATIONS {
        let before = pair(&secrets).await?;
        let has_new_authority = number % (ROTATIONS / AUTHORITIES) == 0;
        if has_new_authority {
            secrets.delete(SECRET, &DeleteParams::default()).await?;
        } else {
            let aged = json!({ "stringData": { "tls-made": "2020-01-01T00:00:00Z" } });
            secrets.patch(SECRET, &PatchParams::default(), &Patch::Merge(aged)).await?;
        }
        while pair(&secrets).await? == before || pair(&secrets).await?.is_none() {
            tokio::time::sleep(INTERVAL).await;
        }
        // As the API server follows its configuration, while old and new pairs are served.
        let end = Instant::now() + if has_new_authority { SETTLED } else { SWAPPED };
        while Instant::now() < end {
            *lock(&shared.trusted) = trusting(&world.bundle().await?)?;
            tokio::time::sleep(INTERVAL).await;
        }
        eprintln!("rotation {} of {ROTATIONS}", number + 1);
    }
    Ok(())
}

async fn pair(secrets: &Api<Secret>) -> anyhow::Result<Option<Vec<u8>>> {
    let secret = secrets.get_opt(SECRET).await.context("failed to read the certificate")?;
    Ok(secret.and_then(|secret| Some(secret.data?.get("tls.crt")?.0.clone())))
}

async fn client(shared: Arc<Shared>, port: u16, body: Bytes) {
    let pause = Duration::from_secs(1) * u32::try_from(CONNECTIONS).unwrap_or(1) / PER_SECOND;
    let mut ticks = tokio::time::interval(pause);
    while !shared.is_over.load(Ordering::SeqCst) {
        let trusted = Arc::clone(&lock(&shared.trusted));
        let exchange = async {
            let mut connection = Connection::open(port, trusted).await?;
            for _ in 0..KEPT {
                ticks.tick().await;
                send(&mut connection, &body).await?;
                shared.answered.fetch_add(1, Ordering::SeqCst);
            }
            anyhow::Ok(())
        };
        if let Err(error) = exchange.await {
            lock(&shared.failed).push(format!("{error:#}"));
            ticks.tick().await;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
