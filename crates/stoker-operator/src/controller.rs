//! The controller: brings every GatewaySync's agents to the wanted commit, and says how they stand.
//!
//! [`reconcile`] is the whole of it: triage, observe, decide, apply, publish, announce. Deciding is
//! `stoker-core`'s; everything below this module reads or writes the cluster.

mod api;
mod apply;
mod arguments;
mod bucket;
pub(crate) mod cache;
mod cleanup;
mod credential;
mod egress;
mod failure;
mod fence;
mod fleet;
mod legacy;
mod memory;
mod observe;
mod pod;
mod profile;
mod prune;
mod publish;
pub(crate) mod queue;
mod remote;
pub(crate) mod repair;
mod token;
pub(crate) mod watch;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use jiff::Timestamp;
use stoker_api::GatewaySync;
use stoker_api::chain::Chain;
use stoker_core::reconcile::decide;
use tokio::task::JoinSet;
use tokio::time::Instant;

pub(crate) use arguments::{Arguments, Cidr, Settings, Shard, TokenWriter};
pub(crate) use failure::Error;

use crate::announce::{self, Announcer};
use crate::bootstrap::Bootstrap;
use crate::run::Shared;
use cache::{Cache, Known};
use legacy::Legacy;
use memory::Memories;
use queue::Queue;
use remote::Remotes;

pub(crate) use crate::announce::Metrics;
pub(crate) use cache::Key;
pub(crate) use publish::Published;

/// What every pass needs.
#[derive(Debug)]
pub(crate) struct Context {
    shared: Shared,
    settings: Settings,
    cache: Cache,
    queue: Arc<Queue>,
    remotes: Remotes,
    memories: Memories,
    legacy: Legacy,
    announcer: Announcer,
    /// Pod bootstrap, which counts the pods of the streams.
    bootstrap: Option<Bootstrap>,
}

/// What a pass came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Something will wake this GatewaySync.
    Rest,
    /// It is looked at again after this time.
    After(Duration),
}

/// Runs until the end is requested.
pub(crate) async fn run(
    shared: Shared,
    settings: Settings,
    metrics: Metrics,
    bootstrap: Option<Bootstrap>,
) -> Result<(), Error> {
    let ready = shared.checks.readiness("cache");
    api::wait_for_definitions(&shared, &ready).await;
    let queue = Arc::new(Queue::default());
    let context = Arc::new(Context {
        cache: Cache::default(),
        remotes: Remotes::new(&settings, Arc::clone(&queue), metrics.clone()),
        memories: Memories::default(),
        legacy: Legacy::default(),
        announcer: Announcer::start(&shared, metrics),
        bootstrap,
        queue,
        settings,
        shared,
    });
    let mut watches = fleet::watch(&context);
    let ended = tokio::select! {
        () = lead(&context, &ready) => Ok(()),
        () = context.shared.shutdown.requested() => Ok(()),
        // A watch goes on for ever, so that its end is a fault of ours: start again whole.
        Some(_) = watches.join_next() => Err(Error::WatchEnded),
    };
    watches.shutdown().await;
    if ended.is_ok() {
        context.announcer.end().await;
    }
    ended
}

/// Reconciles while this instance leads. Watches go on all the time, so that a new leader is warm.
async fn lead(context: &Arc<Context>, ready: &stoker_runtime::admin::Check) {
    context.cache.listed().await;
    ready.pass();
    loop {
        context.shared.leadership.acquired().await;
        tracing::info!(identity = context.shared.identity, "leading");
        // What an earlier term knew may be older than what another leader announced since.
        context.memories.forget_all();
        context.remotes.forget_all();
        context.queue.clear();
        context.cache.keys().into_iter().for_each(|key| context.queue.wake(key));
        let mut workers = JoinSet::new();
        for _ in 0..context.settings.max_concurrent_reconciles {
            workers.spawn(work(Arc::clone(context)));
        }
        if context.settings.auto_bind_agent {
            workers.spawn(legacy::find_bindings(Arc::clone(context)));
        }
        workers.spawn(fence::follow(Arc::clone(context)));
        let injection = repair::Injection(context);
        tokio::select! {
            () = context.shared.leadership.lost() => {}
            () = profile::follow(context) => {}
            () = injection.follow() => {}
            () = keep_house(context) => {}
            () = cleanup::follow_left_out(context) => {}
            () = follow_defaults(context) => {}
        }
        workers.shutdown().await;
        tracing::warn!(identity = context.shared.identity, "not leading any more");
    }
}

/// Restarts pods for the policy of pod bootstrap.
async fn keep_house(context: &Context) {
    match &context.bootstrap {
        Some(bootstrap) => repair::follow(context, bootstrap).await,
        None => std::future::pending().await,
    }
}

/// Defaults concern every GatewaySync.
async fn follow_defaults(context: &Context) {
    let mut defaults = context.shared.defaults.clone();
    loop {
        defaults.changed().await;
        context.cache.keys().into_iter().for_each(|key| context.queue.wake(key));
    }
}

/// The longest time of a pass. A request that is never answered ends with it: no connection has a
/// read timeout, and a few such requests would keep all workers.
const LONGEST_PASS: Duration = Duration::from_mins(1);

async fn work(context: Arc<Context>) {
    loop {
        let key = context.queue.next().await;
        let started = Instant::now();
        let pass = AssertUnwindSafe(reconcile(&context, &key)).catch_unwind();
        let result = match tokio::time::timeout(LONGEST_PASS, pass).await {
            Ok(ended) => ended.unwrap_or(Err(Error::Panicked)),
            Err(_) => Err(Error::TimedOut),
        };
        context.announcer.reconciled(started.elapsed(), result.is_ok());
        let next = match result {
            Ok(next) => next,
            Err(error) => {
                let delay = context.memories.with(&key, memory::Memory::failed);
                let (namespace, name) = (&key.namespace, &key.name);
                tracing::warn!(%namespace, %name, error = %Chain(&error), "a pass failed");
                let said = publish::failed_pass(&context, &key, &error);
                tokio::time::timeout(LONGEST_PASS, said).await.ok();
                Next::After(delay)
            }
        };
        context.queue.done(&key, next);
    }
}

/// One pass over one GatewaySync.
async fn reconcile(context: &Context, key: &Key) -> Result<Next, Error> {
    let sync = match triage(context, key) {
        Triage::Proceed(sync) => context.shared.defaults.merged(sync),
        Triage::End(sync) => return cleanup::end(context, key, &sync).await,
        Triage::Undecodable(fault) if fault.is_deleted => {
            return cleanup::end_undecodable(context, key, &fault).await;
        }
        Triage::Undecodable(fault) => {
            let told = apply::stop_undecodable(context, key, fault.uid.as_deref()).await;
            let next = publish::undecodable(context, key, &fault).await?;
            let failed = |fault| Error::Stop { key: key.clone(), source: Box::new(fault) };
            return told.map(|()| next).map_err(failed);
        }
        Triage::Gone => return cleanup::gone(context, key).await,
    };
    let now = Timestamp::now();
    let mut observed = observe::observe(context, key, &sync).await?;
    let mut verdict = decide(&sync, &observed.facts, now);
    let versions = &observed.versions;
    let mut applied = apply::apply(context, key, &sync, &verdict.writes, versions).await;
    if applied.is_stale() {
        // A status made of it would not be true, either.
        return Ok(applied.next(context, key));
    }
    applied.add(observed.hand_over_token(context, key, &sync).await);
    if let Some(error) = &applied.fault {
        tracing::warn!(namespace = key.namespace, name = key.name, error, "a write failed");
        observed.facts.failed_write.clone_from(&applied.fault);
        verdict = decide(&sync, &observed.facts, now);
    }
    let status = verdict.status.clone();
    let published = publish::publish(context, key, &sync, status, &applied).await?;
    announce::announce(&context.announcer, &sync, &verdict, &published);
    observe::remember_told(context, key, &published, verdict.unlisted);
    observed.tell(context, key, &sync);
    legacy::withdraw(context, key).await;
    let pruned = prune::prune(context, key, &observed).await;
    Ok(observed.next.sooner(pruned).sooner(published.next()).sooner(applied.next(context, key)))
}

/// What is to be done with a GatewaySync at all.
enum Triage {
    Proceed(Arc<GatewaySync>),
    End(Arc<GatewaySync>),
    Undecodable(cache::Undecodable),
    Gone,
}

fn triage(context: &Context, key: &Key) -> Triage {
    match context.cache.sync(key) {
        None => Triage::Gone,
        Some(Known::Undecodable(fault)) => Triage::Undecodable(fault),
        Some(Known::Sync(sync)) if sync.metadata.deletion_timestamp.is_some() => Triage::End(sync),
        Some(Known::Sync(sync)) => Triage::Proceed(sync),
    }
}

impl Next {
    /// Returns the sooner of two.
    pub(crate) fn sooner(self, other: Self) -> Self {
        match (self, other) {
            (Self::After(one), Self::After(two)) => Self::After(one.min(two)),
            (Self::Rest, next) | (next, Self::Rest) => next,
        }
    }
}
