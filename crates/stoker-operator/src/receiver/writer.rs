//! Writes annotations on GatewaySyncs: the first at once, then one per second, the last one counts.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use stoker_api::GatewaySync;
use stoker_api::chain::Chain;
use tokio::sync::oneshot;

/// The least time between two writes to one GatewaySync.
const INTERVAL: Duration = Duration::from_secs(1);
const WITHIN: Duration = Duration::from_secs(5);
/// Attempts at a write that nobody waits for.
const ATTEMPTS: u32 = 5;

/// Annotations by name.
pub(super) type Annotations = BTreeMap<&'static str, String>;

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

#[derive(Debug, Default)]
struct Slot {
    pending: Annotations,
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

    /// Writes annotations, now or within a second.
    ///
    /// The write is a task of its own: a sender that hangs up does not end it.
    pub(super) async fn write(
        &self,
        target: Target,
        annotations: Annotations,
    ) -> Result<(), Fault> {
        if self.is_pending(&target, &annotations) {
            return Ok(());
        }
        let writer = self.clone();
        let (report, written) = oneshot::channel();
        tokio::spawn(async move {
            let result = writer.patch(&target, &annotations).await;
            // The sender may have gone.
            report.send(result).ok();
            writer.drain(target).await;
        });
        written.await.unwrap_or(Err(Fault::Unavailable))
    }

    /// Adds to what is pending. Where nothing is, this call opens the slot and writes itself.
    fn is_pending(&self, target: &Target, annotations: &Annotations) -> bool {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get_mut(target) {
            slot.pending.extend(annotations.clone());
            return true;
        }
        slots.insert(target.clone(), Slot::default());
        false
    }

    /// Writes what came in meanwhile, once per second, until nothing does.
    async fn drain(self, target: Target) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            let Some(pending) = self.take(&target) else { return };
            for attempt in 1..=ATTEMPTS {
                match self.patch(&target, &pending).await {
                    Ok(()) | Err(Fault::NotFound) => break,
                    Err(Fault::Unavailable) if attempt == ATTEMPTS => {
                        let Target { namespace, name } = &target;
                        tracing::warn!(namespace, name, "dropped a push event, polling finds it");
                    }
                    Err(Fault::Unavailable) => tokio::time::sleep(INTERVAL * attempt).await,
                }
            }
        }
    }

    /// Takes what is pending, and closes the slot where nothing is.
    fn take(&self, target: &Target) -> Option<Annotations> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let pending = std::mem::take(&mut slots.get_mut(target)?.pending);
        if pending.is_empty() {
            slots.remove(target);
            return None;
        }
        Some(pending)
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
            under_test.write(target(), annotations("1")),
        );
        assert!(hung_up.await.is_err());
        assert_eq!(under_test.write(target(), annotations("2")).await, Ok(()));
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
        assert_eq!(under_test.write(target(), annotations("3")).await, Ok(()));
        assert_eq!(writes.load(Ordering::SeqCst), 3);
    }
}
