//! Events about bootstrap: queued, and at most one a second per reason.
//!
//! They are about the PodBootstrap, which has no namespace: such events are in `default`.

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
use stoker_api::podbootstrap::POLICY_NAME;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::run::Shared;

const INTERVAL: Duration = Duration::from_secs(1);
const WITHIN: Duration = Duration::from_secs(5);
/// Events that wait. More are counted by metrics and logged.
const WAITING: usize = 64;
const NAMESPACE: &str = "default";

/// Takes events.
pub(super) struct Events(mpsc::Sender<Note>);

struct Note {
    reason: EventReason,
    action: &'static str,
    text: String,
}

impl Events {
    /// Starts to write events.
    pub(super) fn start(shared: &Shared) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        tokio::spawn(write(shared.client.clone(), shared.identity.clone(), receiver));
        Self(sender)
    }

    /// Takes an event; where too many wait, it is dropped.
    pub(super) fn add(&self, reason: EventReason, action: &'static str, text: String) {
        self.0.try_send(Note { reason, action, text }).ok();
    }
}

async fn write(client: Client, identity: String, mut notes: mpsc::Receiver<Note>) {
    let api: Api<Event> = Api::namespaced(client, NAMESPACE);
    let mut last: HashMap<EventReason, Instant> = HashMap::new();
    while let Some(note) = notes.recv().await {
        if last.get(&note.reason).is_some_and(|at| at.elapsed() < INTERVAL) {
            continue;
        }
        last.insert(note.reason, Instant::now());
        let (parameters, event) = (PostParams::default(), event(&note, &identity));
        let created = tokio::time::timeout(WITHIN, api.create(&parameters, &event)).await;
        if !matches!(created, Ok(Ok(_))) {
            tracing::debug!(reason = %note.reason, "failed to write an event");
        }
    }
}

fn event(note: &Note, identity: &str) -> Event {
    let is_warning = note.reason != EventReason::PodEvicted;
    Event {
        metadata: ObjectMeta {
            generate_name: Some("stoker-bootstrap-".to_owned()),
            namespace: Some(NAMESPACE.to_owned()),
            ..ObjectMeta::default()
        },
        action: Some(note.action.to_owned()),
        reason: Some(note.reason.as_str().to_owned()),
        note: Some(note.text.chars().take(1000).collect()),
        type_: Some(if is_warning { "Warning" } else { "Normal" }.to_owned()),
        event_time: Some(MicroTime(Timestamp::now())),
        reporting_controller: Some("stoker.io/bootstrap".to_owned()),
        reporting_instance: Some(identity.to_owned()),
        regarding: Some(ObjectReference {
            api_version: Some(API_VERSION.to_owned()),
            kind: Some("PodBootstrap".to_owned()),
            name: Some(POLICY_NAME.to_owned()),
            ..ObjectReference::default()
        }),
        ..Event::default()
    }
}
