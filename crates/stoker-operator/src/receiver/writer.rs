//! Writes annotations on GatewaySyncs: the first at once, then one per second, the last one counts.
//!
//! # Promises
//! - A requested ref is on the API server when its sender is told that it was accepted: polling
//!   could not find it again.
//! - A recheck may be promised before it is written: polling finds the commit if this process dies.
//! - What was promised is retried, and written before the process ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use stoker_api::GatewaySync;
use stoker_api::chain::Chain;
use stoker_api::names::Annotation;
use stoker_core::payload::Annotations;
use tokio::sync::oneshot;

/// The least time between two writes to one GatewaySync.
const INTERVAL: Duration = Duration::from_secs(1);
const WITHIN: Duration = Duration::from_secs(5);
/// How often a promised write is tried.
const ATTEMPTS: u32 = 5;
/// How often the end of the process checks whether everything is written.
const FLUSH_INTERVAL: Duration = Duration::from_millis(20);
const FLUSH_WITHIN: Duration = Duration::from_secs(8);

/// Writes annotations. Clones share what is pending.
#[derive(Clone)]
pub(super) struct Writer {
    client: Client,
    slots: Arc<Mutex<HashMap<Target, Slot>>>,
}

/// A GatewaySync.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Target {
    pub(super) namespace: String,
    pub(super) name: String,
}

/// When a sender is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// At once, where a write is under way already.
    Promised,
    /// When it is written.
    Written,
}

/// What is under way for one GatewaySync.
#[derive(Debug, Default)]
struct Slot {
    next: Batch,
    /// Everything that was accepted since the slot was opened.
    accepted: Annotations,
    is_writing: bool,
}

/// One write.
#[derive(Debug, Default)]
struct Batch {
    annotations: Annotations,
    waiting: Vec<oneshot::Sender<Result<(), Fault>>>,
    /// Whether a sender was told already that it is accepted.
    is_promised: bool,
}

/// Why annotations were not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    NotFound,
    Unavailable,
}

impl Writer {
    pub(super) fn new(client: Client) -> Self {
        Self { client, slots: Arc::default() }
    }

    /// Returns the annotations that were accepted within the last second or so. The watch may not
    /// have brought them back yet.
    pub(super) fn accepted(&self, target: &Target) -> Annotations {
        self.with(|slots| slots.get(target).map(|slot| slot.accepted.clone()).unwrap_or_default())
    }

    /// Writes annotations, now or within a second.
    ///
    /// The write is a task of its own: a sender that hangs up does not end it.
    pub(super) async fn write(
        &self,
        target: Target,
        annotations: Annotations,
        answer: Answer,
    ) -> Result<(), Fault> {
        let (report, written) = oneshot::channel();
        let is_new = self.with(|slots| {
            let is_new = !slots.contains_key(&target);
            let slot = slots.entry(target.clone()).or_default();
            slot.accepted.extend(annotations.clone());
            slot.next.annotations.extend(annotations);
            if is_new || answer == Answer::Written {
                slot.next.waiting.push(report);
            } else {
                slot.next.is_promised = true;
            }
            is_new
        });
        if is_new {
            tokio::spawn(self.clone().run(target));
        } else if answer == Answer::Promised {
            return Ok(());
        }
        written.await.unwrap_or(Err(Fault::Unavailable))
    }

    /// Waits until everything is written.
    pub(super) async fn flush(&self) {
        let flushed = async {
            while self.with(|slots| slots.values().any(Slot::is_busy)) {
                tokio::time::sleep(FLUSH_INTERVAL).await;
            }
        };
        if tokio::time::timeout(FLUSH_WITHIN, flushed).await.is_err() {
            tracing::warn!("ended before every push event was written, polling finds them");
        }
    }

    /// Writes what comes in, once per second, until nothing does.
    async fn run(self, target: Target) {
        let mut failures = 0;
        while let Some(batch) = self.take(&target) {
            let result = self.patch(&target, &batch.annotations).await;
            self.with(|slots| slots.entry(target.clone()).or_default().is_writing = false);
            for waiting in batch.waiting {
                // The sender may have gone.
                waiting.send(result).ok();
            }
            let Target { namespace, name } = &target;
            failures = if result == Err(Fault::Unavailable) { failures + 1 } else { 0 };
            match result {
                Ok(()) => announce(&target, &batch.annotations),
                // All senders know; those that want it send it again.
                Err(_) if !batch.is_promised => self.drop_accepted(&target),
                Err(Fault::Unavailable) if failures < ATTEMPTS => {
                    self.put_back(&target, batch.annotations);
                }
                Err(_) => {
                    tracing::warn!(namespace, name, "dropped a push event, polling finds it");
                    self.drop_accepted(&target);
                }
            }
            tokio::time::sleep(INTERVAL * failures.max(1)).await;
        }
    }

    /// Takes what is to be written, and closes the slot where nothing is.
    fn take(&self, target: &Target) -> Option<Batch> {
        self.with(|slots| {
            let slot = slots.get_mut(target)?;
            if slot.next.annotations.is_empty() {
                slots.remove(target);
                return None;
            }
            slot.is_writing = true;
            Some(std::mem::take(&mut slot.next))
        })
    }

    /// Has annotations written again, except for those that were replaced meanwhile.
    fn put_back(&self, target: &Target, mut annotations: Annotations) {
        self.with(|slots| {
            if let Some(slot) = slots.get_mut(target) {
                annotations.append(&mut slot.next.annotations);
                slot.next.annotations = annotations;
                slot.next.is_promised = true;
            }
        });
    }

    /// Forgets what was accepted and is not written.
    fn drop_accepted(&self, target: &Target) {
        self.with(|slots| {
            if let Some(slot) = slots.get_mut(target) {
                slot.accepted = slot.next.annotations.clone();
            }
        });
    }

    fn with<T>(&self, with: impl FnOnce(&mut HashMap<Target, Slot>) -> T) -> T {
        with(&mut self.slots.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn patch(&self, target: &Target, annotations: &Annotations) -> Result<(), Fault> {
        let api: Api<GatewaySync> = Api::namespaced(self.client.clone(), &target.namespace);
        let patch = json!({ "metadata": { "annotations": annotations } });
        let patch = Patch::Merge(&patch);
        let parameters = PatchParams::default();
        let patched = api.patch_metadata(&target.name, &parameters, &patch);
        match tokio::time::timeout(WITHIN, patched).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(kube::Error::Api(status))) if status.code == 404 => Err(Fault::NotFound),
            Ok(Err(error)) => {
                let Target { namespace, name } = target;
                let error = Chain(&error);
                tracing::warn!(namespace, name, %error, "failed to write a push event");
                Err(Fault::Unavailable)
            }
            Err(_) => Err(Fault::Unavailable),
        }
    }
}

impl Slot {
    fn is_busy(&self) -> bool {
        self.is_writing || !self.next.annotations.is_empty()
    }
}

fn announce(target: &Target, annotations: &Annotations) {
    let Target { namespace, name } = target;
    let get = |annotation: Annotation| annotations.get(annotation.as_str()).map(String::as_str);
    if let Some(git_ref) = get(Annotation::RequestedRef) {
        let source = get(Annotation::RequestedBy);
        tracing::info!(namespace, name, source, git_ref, "wrote a requested ref");
    } else {
        let source = get(Annotation::RecheckBy);
        tracing::info!(namespace, name, source, "wrote a push event");
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use hyper::{Request, Response};
    use kube::client::Body;

    use super::*;

    /// An API server that takes 300 ms for every write.
    fn slow(writes: &Arc<AtomicUsize>) -> Client {
        let writes = Arc::clone(writes);
        let service = tower::service_fn(move |_: Request<Body>| {
            let writes = Arc::clone(&writes);
            async move {
                tokio::time::sleep(Duration::from_millis(300)).await;
                writes.fetch_add(1, Ordering::SeqCst);
                let object = r#"{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"plant"}}"#;
                Ok::<_, Infallible>(Response::new(Body::from(object.as_bytes().to_vec())))
            }
        });
        Client::new(service, "default")
    }

    fn target() -> Target {
        Target { namespace: "a".to_owned(), name: "plant".to_owned() }
    }

    fn annotations(value: &str) -> Annotations {
        [("stoker.io/recheck-at", value.to_owned())].into()
    }

    #[tokio::test]
    async fn a_sender_that_hangs_up_does_not_stop_later_writes() {
        let writes = Arc::new(AtomicUsize::new(0));
        let under_test = Writer::new(slow(&writes));
        let hung_up = tokio::time::timeout(
            Duration::from_millis(20),
            under_test.write(target(), annotations("1"), Answer::Promised),
        );
        assert!(hung_up.await.is_err());
        assert_eq!(under_test.write(target(), annotations("2"), Answer::Promised).await, Ok(()));
        let begun = tokio::time::Instant::now();
        while writes.load(Ordering::SeqCst) < 2 {
            assert!(begun.elapsed() < Duration::from_secs(20));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        // The slot is closed again, and the next one is written at once.
        while !under_test.slots.lock().unwrap().is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(20));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(under_test.write(target(), annotations("3"), Answer::Promised).await, Ok(()));
        assert_eq!(writes.load(Ordering::SeqCst), 3);
    }

    // E8
    #[tokio::test]
    async fn a_requested_ref_is_answered_when_it_is_written() {
        let writes = Arc::new(AtomicUsize::new(0));
        let under_test = Writer::new(slow(&writes));
        let write = |value, answer| under_test.write(target(), annotations(value), answer);
        let (first, second, third) = tokio::join!(
            write("1", Answer::Promised),
            async {
                tokio::task::yield_now().await;
                let result = write("2", Answer::Promised).await;
                (result, writes.load(Ordering::SeqCst))
            },
            async {
                tokio::task::yield_now().await;
                let result = write("3", Answer::Written).await;
                (result, writes.load(Ordering::SeqCst))
            },
        );
        assert_eq!((first, second, third), (Ok(()), (Ok(()), 0), (Ok(()), 2)));
        assert_eq!(under_test.accepted(&target()), annotations("3"));
    }

    // E8
    #[tokio::test]
    async fn what_was_promised_is_written_before_the_end() {
        let writes = Arc::new(AtomicUsize::new(0));
        let under_test = Writer::new(slow(&writes));
        assert_eq!(under_test.write(target(), annotations("1"), Answer::Promised).await, Ok(()));
        assert_eq!(under_test.write(target(), annotations("2"), Answer::Promised).await, Ok(()));
        assert_eq!(writes.load(Ordering::SeqCst), 1);
        under_test.flush().await;
        assert_eq!(writes.load(Ordering::SeqCst), 2);
    }

    // E8, R59
    #[tokio::test(start_paused = true)]
    async fn a_promise_outlives_an_outage_and_a_refused_sender_is_told() {
        let (failures, writes) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counts = (Arc::clone(&failures), Arc::clone(&writes));
        let service = tower::service_fn(move |_: Request<Body>| {
            let (failures, writes) = counts.clone();
            async move {
                let object = r#"{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"plant"}}"#;
                let mut response = Response::new(Body::from(object.as_bytes().to_vec()));
                if failures.fetch_add(1, Ordering::SeqCst) < 3 {
                    *response.status_mut() = hyper::StatusCode::INTERNAL_SERVER_ERROR;
                } else {
                    writes.fetch_add(1, Ordering::SeqCst);
                }
                Ok::<_, Infallible>(response)
            }
        });
        let under_test = Writer::new(Client::new(service, "default"));
        let first = under_test.write(target(), annotations("1"), Answer::Promised).await;
        assert_eq!(first, Err(Fault::Unavailable));
        assert_eq!(under_test.accepted(&target()), Annotations::new());
        assert_eq!(under_test.write(target(), annotations("2"), Answer::Promised).await, Ok(()));
        while writes.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(failures.load(Ordering::SeqCst), 4);
    }
}
