//! Writes events, one after the other.

use std::fmt::Write as _;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event as Object;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Resource as _, ResourceExt as _};
use sha2::{Digest as _, Sha256};
use stoker_api::GatewaySync;
use stoker_api::chain::Chain;
use stoker_api::condition::EventReason;
use stoker_api::gatewaysync::GatewaySyncStatus;
use stoker_core::backoff::Backoff;
use stoker_core::reconcile::{Event, Regarding, Severity};
use tokio::sync::mpsc;

use crate::run::Shared;

const CONTROLLER: &str = "stoker.io/controller";
const ATTEMPTS: u32 = 4;
const RETRY: Backoff = Backoff { first: Duration::from_millis(250), most: Duration::from_secs(4) };

/// One event, ready to be written.
#[derive(Debug)]
pub(super) struct Note {
    namespace: String,
    object: Object,
}

impl Note {
    /// Builds an event.
    ///
    /// Its name follows from what it says and of which version, so that a controller that was
    /// killed after writing it does not write it twice.
    pub(super) fn new(sync: &GatewaySync, status: &GatewaySyncStatus, event: &Event) -> Self {
        let namespace = sync.namespace().unwrap_or_default();
        let own = sync.object_ref(&());
        let (regarding, related) = match &event.regarding {
            Regarding::Sync => (own, None),
            Regarding::Pod { name, uid } => {
                let pod = ObjectReference {
                    api_version: Some("v1".to_owned()),
                    kind: Some("Pod".to_owned()),
                    name: Some(name.clone()),
                    namespace: Some(namespace.clone()),
                    uid: Some(uid.clone()),
                    ..ObjectReference::default()
                };
                (pod, Some(own))
            }
        };
        let severity = match event.severity {
            Severity::Normal => "Normal",
            Severity::Warning => "Warning",
        };
        let object = Object {
            metadata: ObjectMeta {
                name: Some(name_of(sync, status, event)),
                namespace: Some(namespace.clone()),
                ..ObjectMeta::default()
            },
            action: Some("Reconcile".to_owned()),
            reason: Some(event.reason.as_str().to_owned()),
            note: Some(event.note.clone()),
            type_: Some(severity.to_owned()),
            event_time: Some(MicroTime(Timestamp::now())),
            reporting_controller: Some(CONTROLLER.to_owned()),
            regarding: Some(regarding),
            related,
            ..Object::default()
        };
        Self { namespace, object }
    }
}

fn name_of(sync: &GatewaySync, status: &GatewaySyncStatus, event: &Event) -> String {
    let mut hash = Sha256::new();
    let about = match &event.regarding {
        Regarding::Sync => "",
        Regarding::Pod { uid, .. } => uid,
    };
    let metadata = &sync.metadata;
    // The version changes with every status, so that the same thing can be told again later. That
    // a commit is there is told once for each sync of it.
    let version = match event.reason {
        EventReason::SyncCompleted => {
            let time = status.last_sync_time.as_ref().map(|time| time.0.to_string());
            format!("{:?} {time:?}", metadata.uid)
        }
        _ => metadata.resource_version.clone().unwrap_or_default(),
    };
    for part in [&*version, about, event.reason.as_str(), &event.note] {
        hash.update(part);
        hash.update([0]);
    }
    let digest = hash.finalize();
    let hex = digest.iter().take(8).fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a string takes any text");
        hex
    });
    format!("{}.{hex}", sync.name_any())
}

/// Writes what comes; at the end of the program what is left, and then no more.
pub(super) async fn write(shared: Shared, mut waiting: mpsc::Receiver<Note>) {
    loop {
        let note = tokio::select! {
            note = waiting.recv() => note,
            () = shared.shutdown.requested() => {
                waiting.close();
                waiting.recv().await
            }
        };
        let Some(Note { namespace, mut object }) = note else { return };
        object.reporting_instance = Some(shared.identity.clone());
        let api: Api<Object> = Api::namespaced(shared.client.clone(), &namespace);
        if let Err(error) = create(&api, &object).await {
            let reason = object.reason.as_deref().unwrap_or_default();
            tracing::warn!(%namespace, reason, error = %Chain(&error), "failed to write an event");
        }
    }
}

/// Creates an event. A lost answer does no harm: the name follows from the content, so that the
/// second attempt is refused as a duplicate.
async fn create(api: &Api<Object>, object: &Object) -> kube::Result<()> {
    let mut failures = 0;
    loop {
        let Err(error) = api.create(&PostParams::default(), object).await else { return Ok(()) };
        let is_final = match &error {
            kube::Error::Api(status) if status.code == 409 => return Ok(()),
            kube::Error::Api(status) => status.code < 500,
            _ => false,
        };
        failures += 1;
        if is_final || failures == ATTEMPTS {
            return Err(error);
        }
        tokio::time::sleep(RETRY.delay(failures, fastrand::f64())).await;
    }
}
