//! What the controller tells: logs, metrics and events, each derived once from a verdict.

mod event;
mod metric;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt as _;
use stoker_api::GatewaySync;
use stoker_api::condition::{ConditionType, Reason};
use stoker_api::gatewaysync::GatewaySyncStatus;
use stoker_core::reconcile::{Event, Severity, Verdict};
use stoker_core::status::condition;
use stoker_runtime::telemetry;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::controller::{Key, Published};
use crate::run::Shared;
use event::Note;

pub(crate) use metric::Metrics;

/// Events that wait to be written; more than that at once are dropped.
const WAITING_EVENTS: usize = 1000;
/// How long the end of the program waits for them.
const END_WITHIN: Duration = Duration::from_secs(2);

/// Tells what happened. Events are written by a task of its own, so that no pass waits for them.
#[derive(Debug)]
pub(crate) struct Announcer {
    metrics: Metrics,
    events: mpsc::Sender<Note>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl Announcer {
    /// Starts the task that writes events.
    pub(crate) fn start(shared: &Shared, metrics: Metrics) -> Self {
        let (events, waiting) = mpsc::channel(WAITING_EVENTS);
        let writer = tokio::spawn(event::write(shared.clone(), waiting));
        Self { metrics, events, writer: Mutex::new(Some(writer)) }
    }

    /// Waits until the events that were told before the end of the program are written.
    pub(crate) async fn end(&self) {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(writer) = writer else { return };
        if tokio::time::timeout(END_WITHIN, writer).await.is_err() {
            tracing::warn!("events that were not written yet are lost");
        }
    }

    /// Counts a pass.
    pub(crate) fn reconciled(&self, took: Duration, is_ok: bool) {
        self.metrics.reconciled(took, is_ok);
    }

    /// Takes note of the emergency stop.
    pub(crate) fn stopped(&self, is_stopped: bool) {
        self.metrics.stopped(is_stopped);
    }

    /// Counts a pod that was evicted.
    pub(crate) fn evicted(&self) {
        self.metrics.evicted();
    }

    /// Writes an event that no status tells of.
    pub(crate) fn tell(&self, sync: &GatewaySync, event: &Event) {
        let status = sync.status.clone().unwrap_or_default();
        if self.events.try_send(Note::new(sync, &status, event)).is_err() {
            let (name, reason) = (sync.name_any(), event.reason);
            tracing::warn!(name, %reason, "an event was dropped");
        }
    }

    /// Takes note of when the token of a GitHub App ends; none where there is no App.
    pub(crate) fn token_expires(&self, key: &Key, at: Option<Timestamp>) {
        self.metrics.token_expires(key, at);
    }

    /// Takes note that a GatewaySync is not ready, because a pass failed or it can't be read.
    pub(crate) fn not_ready(&self, key: &Key) {
        self.metrics.not_ready(key);
    }

    /// Drops the series of a GatewaySync that is gone.
    pub(crate) fn forget(&self, key: &Key) {
        self.metrics.forget(key);
    }
}

/// Tells what a pass came to, once its status is published.
pub(crate) fn announce(
    announcer: &Announcer,
    sync: &GatewaySync,
    verdict: &Verdict,
    published: &Published,
) {
    let key = Key::new(&sync.namespace().unwrap_or_default(), &sync.name_any());
    announcer.metrics.observe(&key, verdict);
    // A status that stays as it is may have no room for the gateway that synced.
    if !matches!(published, Published::Deferred(_)) {
        verdict.finished.iter().for_each(|line| telemetry::write_line(line));
    }
    let Published::Written(status) = published else { return };
    log(&key, sync.status.as_ref(), status);
    for event in &verdict.events {
        let (namespace, name) = (&key.namespace, &key.name);
        let (reason, note) = (event.reason, &event.note);
        match event.severity {
            Severity::Normal => tracing::info!(%namespace, %name, %reason, note, "event"),
            Severity::Warning => tracing::warn!(%namespace, %name, %reason, note, "event"),
        }
        if announcer.events.try_send(Note::new(sync, status, event)).is_err() {
            tracing::warn!(%namespace, %name, %reason, "an event was dropped");
        }
    }
}

fn log(key: &Key, before: Option<&GatewaySyncStatus>, now: &GatewaySyncStatus) {
    let ready = |status: &GatewaySyncStatus| {
        let ready = condition(status, ConditionType::Ready)?;
        Some((ready.status.clone(), Reason::find(&ready.reason)?, ready.message.clone()))
    };
    let Some((state, reason, message)) = ready(now) else { return };
    let was = before.and_then(ready);
    if was.is_some_and(|(was, why, _)| (was, why) == (state.clone(), reason)) {
        return;
    }
    let (namespace, name) = (&key.namespace, &key.name);
    tracing::info!(%namespace, %name, ready = state, %reason, message, "status changed");
}
