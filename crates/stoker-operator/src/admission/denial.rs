//! Events about denied pods: queued, and at most one a second per GatewaySync.
//!
//! A pod that is denied never exists, so the controller can't tell of it.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};
use stoker_api::condition::EventReason;
use stoker_api::names::API_VERSION;
use tokio::sync::mpsc;
use tokio::time::Instant;

const INTERVAL: Duration = Duration::from_secs(1);
const WITHIN: Duration = Duration::from_secs(5);
/// Denials that wait. More are counted by the metric and logged, and get no event.
const WAITING: usize = 64;
/// GatewaySyncs that are told apart.
const SYNCS: usize = 1024;

/// Takes denials.
#[derive(Debug, Clone)]
pub(super) struct Denials(mpsc::Sender<Denied>);

/// A pod that was denied.
#[derive(Debug)]
pub(super) struct Denied {
    pub(super) namespace: String,
    pub(super) sync: String,
    pub(super) uid: Option<String>,
    pub(super) message: String,
}

impl Denials {
    /// Starts to write events.
    pub(super) fn start(client: Client) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        tokio::spawn(write(client, receiver));
        Self(sender)
    }

    /// Takes a denial; where too many wait, it gets no event.
    pub(super) fn add(&self, denied: Denied) {
        self.0.try_send(denied).ok();
    }
}

async fn write(client: Client, mut denials: mpsc::Receiver<Denied>) {
    let mut last: HashMap<String, Instant> = HashMap::new();
    while let Some(denied) = denials.recv().await {
        let key = format!("{}/{}", denied.namespace, denied.sync);
        if last.get(&key).is_some_and(|at| at.elapsed() < INTERVAL) {
            continue;
        }
        if last.len() >= SYNCS {
            last.clear();
        }
        last.insert(key, Instant::now());
        let api: Api<Event> = Api::namespaced(client.clone(), &denied.namespace);
        let event = event(&denied);
        let parameters = PostParams::default();
        let created = tokio::time::timeout(WITHIN, api.create(&parameters, &event)).await;
        if !matches!(created, Ok(Ok(_))) {
            let Denied { namespace, sync, .. } = &denied;
            tracing::debug!(namespace, name = sync, "failed to write an event");
        }
    }
}

fn event(denied: &Denied) -> Event {
    Event {
        metadata: ObjectMeta {
            generate_name: Some(format!("{}-denied-", denied.sync)),
            namespace: Some(denied.namespace.clone()),
            ..ObjectMeta::default()
        },
        action: Some("Inject".to_owned()),
        reason: Some(EventReason::InjectionDenied.as_str().to_owned()),
        note: Some(denied.message.chars().take(1000).collect()),
        type_: Some("Warning".to_owned()),
        event_time: Some(MicroTime(Timestamp::now())),
        reporting_controller: Some("stoker.io/webhook".to_owned()),
        reporting_instance: Some("stoker-operator".to_owned()),
        regarding: Some(ObjectReference {
            api_version: Some(API_VERSION.to_owned()),
            kind: Some("GatewaySync".to_owned()),
            namespace: Some(denied.namespace.clone()),
            name: Some(denied.sync.clone()),
            uid: denied.uid.clone(),
            ..ObjectReference::default()
        }),
        ..Event::default()
    }
}
