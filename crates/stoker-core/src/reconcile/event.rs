//! What is told once: events on a change of state, found by comparing two statuses.

use stoker_api::GatewaySync;
use stoker_api::condition::{ConditionType, EventReason, Reason, Requester, SyncStatus};
use stoker_api::contract::cap;
use stoker_api::gatewaysync::{DiscoveredGateway, GatewaySyncStatus};
use stoker_api::limit;
use stoker_api::names::{Annotation, TRUE};

use crate::gateway::Gateway;
use crate::status::{Facts, condition, listed_message, whole_seconds};

/// How many gateways get an event of their own in one pass.
const SINGLE: usize = 10;
/// The API server takes notes of up to 1 kB.
const NOTE_BYTES: usize = 1000;

/// Something to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Whether people should look.
    pub severity: Severity,
    /// What happened, in one word.
    pub reason: EventReason,
    /// What happened, in one sentence.
    pub note: String,
    /// What it is about.
    pub regarding: Regarding,
}

/// Whether people should look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Good news, or no news.
    Normal,
    /// Something is wrong.
    Warning,
}

/// What an event is about.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "a field is named after what it holds")]
pub enum Regarding {
    /// The GatewaySync.
    Sync,
    /// A pod of its namespace.
    Pod { name: String, uid: String },
}

/// Returns the event for a push event that asked for a ref, or for a look at the remote.
pub fn received(sync: &GatewaySync, by: Requester) -> Event {
    let annotations = sync.metadata.annotations.as_ref();
    let wanted = annotations.and_then(|them| them.get(Annotation::RequestedRef.as_str()));
    let note = match wanted {
        Some(wanted) => format!("{by} asked for ref {wanted:?}"),
        None => format!("{by} reported a change of the repository"),
    };
    let note = cap::text(&note, NOTE_BYTES);
    Event::normal(EventReason::WebhookReceived, note)
}

/// Compares the status that is published with the next one.
pub(super) fn events(facts: &Facts<'_>, next: &GatewaySyncStatus) -> Vec<Event> {
    let none = GatewaySyncStatus::default();
    let before = facts.sync.status.as_ref().unwrap_or(&none);
    let mut events = Vec::new();
    refs(before, next, &mut events);
    pauses(before, next, &mut events);
    profiles(before, next, &mut events);
    discovered(facts, before, next, &mut events);
    completed(facts, before, next, &mut events);
    gateways(facts, before, &mut events);
    drift(before, next, &mut events);
    for event in &mut events {
        event.note = cap::text(&event.note, NOTE_BYTES);
    }
    events
}

fn refs(before: &GatewaySyncStatus, next: &GatewaySyncStatus, events: &mut Vec<Event>) {
    if let (Some(commit), Some(name)) = (&next.resolved_commit, &next.resolved_ref)
        && before.resolved_commit.as_ref() != Some(commit)
    {
        let was = before.resolved_commit.as_deref().map(|was| format!(", was {}", short(was)));
        let note = format!("{name} is at {}{}", short(commit), was.unwrap_or_default());
        events.push(Event::normal(EventReason::RefUpdated, note));
    }
    let failed = |status: &GatewaySyncStatus| {
        let found = condition(status, ConditionType::RefResolved)?;
        (found.status == "False").then(|| found.clone())
    };
    if let Some(now) = failed(next)
        && failed(before).is_none_or(|was| was.reason != now.reason)
    {
        let note = format!("{}: {}", now.reason, now.message);
        events.push(Event::warning(EventReason::RefResolutionFailed, note));
    }
}

fn pauses(before: &GatewaySyncStatus, next: &GatewaySyncStatus, events: &mut Vec<Event>) {
    let paused = |status: &GatewaySyncStatus| {
        let ready = condition(status, ConditionType::Ready)?;
        (ready.reason == Reason::Paused.as_str()).then(|| ready.message.clone())
    };
    match (paused(before), paused(next)) {
        (None, Some(message)) => events.push(Event::normal(EventReason::Paused, message)),
        (Some(_), None) => {
            events.push(Event::normal(EventReason::Resumed, "syncing was resumed".to_owned()));
        }
        (Some(_), Some(_)) | (None, None) => {}
    }
}

fn profiles(before: &GatewaySyncStatus, next: &GatewaySyncStatus, events: &mut Vec<Event>) {
    let invalid = |status: &GatewaySyncStatus| {
        let found = condition(status, ConditionType::ProfilesValid)?;
        (found.status == "False").then(|| found.message.clone())
    };
    if let Some(message) = invalid(next)
        && invalid(before).as_ref() != Some(&message)
    {
        events.push(Event::warning(EventReason::ProfilesInvalid, message));
    }
}

fn discovered(
    facts: &Facts<'_>,
    before: &GatewaySyncStatus,
    next: &GatewaySyncStatus,
    events: &mut Vec<Event>,
) {
    let count = |status: &GatewaySyncStatus| status.gateways.map_or(0, |counts| counts.discovered);
    if count(before) == count(next) {
        return;
    }
    let names = facts.gateways.iter().map(|gateway| gateway.pod.name.clone());
    let names = cap::list(names, SINGLE).join(", ");
    let note = match count(next) {
        0 => "no gateways are left".to_owned(),
        1 => format!("1 gateway: {names}"),
        many => format!("{many} gateways: {names}"),
    };
    events.push(Event::normal(EventReason::GatewaysDiscovered, note));
}

fn completed(
    facts: &Facts<'_>,
    before: &GatewaySyncStatus,
    next: &GatewaySyncStatus,
    events: &mut Vec<Event>,
) {
    let has_gateways = next.gateways.is_some_and(|counts| counts.discovered > 0);
    // Without gateways the last sync only follows the ref.
    let was_empty = before.gateways.is_none_or(|counts| counts.discovered == 0);
    let is_new = next.last_sync_commit.is_some()
        && (was_empty || before.last_sync_commit != next.last_sync_commit);
    let commit = next.last_sync_commit.as_deref().unwrap_or_default();
    // The only gateway may have been restarted since.
    if !has_gateways || !is_new || facts.completed == Some(commit) {
        return;
    }
    let count = next.gateways.map_or(0, |counts| counts.discovered);
    let reference = next.last_sync_ref.as_deref().unwrap_or_default();
    let note = format!("{count} gateway(s) synced at {} ({reference})", short(commit));
    events.push(Event::normal(EventReason::SyncCompleted, note));
}

/// Gateways that came, and those whose state became worse.
fn gateways(facts: &Facts<'_>, before: &GatewaySyncStatus, events: &mut Vec<Event>) {
    let was = |gateway: &Gateway| {
        before.discovered_gateways.iter().find(|was| was.pod_name == gateway.pod.name)
    };
    // A full list leaves gateways out, and those would look new in every pass.
    if before.discovered_gateways.len() < limit::STATUS_GATEWAYS {
        let new = facts.gateways.iter().filter(|gateway| was(gateway).is_none());
        new.for_each(|gateway| arrived(gateway, events));
    }
    // The worst are listed first: where all are bad, one that is not listed may be as bad as before.
    let hides_bad_ones = before.discovered_gateways.len() >= limit::STATUS_GATEWAYS
        && before.discovered_gateways.iter().all(is_bad);
    let worse = |wanted: SyncStatus| {
        facts.gateways.iter().filter(move |gateway| {
            gateway.status == wanted
                && !was(gateway).map_or(hides_bad_ones, |was| is_same(facts, was, gateway))
        })
    };
    tell(EventReason::SyncFailed, worse(SyncStatus::Error), events);
    tell(EventReason::SidecarMissing, worse(SyncStatus::MissingSidecar), events);
    let blocked = facts.gateways.iter().filter(|gateway| {
        gateway.reason == Some(Reason::DesignerSessionActive)
            && was(gateway).is_none_or(|was| !has_message(facts, was, gateway))
    });
    tell(EventReason::DesignerSessionsBlocked, blocked, events);
    let repaired = facts.gateways.iter().filter_map(|gateway| repaired(was(gateway)?, gateway));
    events.extend(repaired.take(SINGLE));
}

/// Tells of drift that a sync since the published status has repaired.
fn repaired(was: &DiscoveredGateway, gateway: &Gateway) -> Option<Event> {
    let report = gateway.report.as_ref()?;
    let drift = report.drift.as_ref().filter(|drift| drift.repaired)?;
    let synced_at = report.synced_at.map(whole_seconds);
    if synced_at.is_none() || was.last_sync_time == synced_at {
        return None;
    }
    let (pod, count) = (&gateway.pod.name, drift.count);
    let paths = drift.paths.join(", ");
    let note = format!("{pod}: {count} file(s) differed and were written again: {paths}");
    Some(Event::warning(EventReason::DriftDetected, note))
}

fn is_bad(gateway: &DiscoveredGateway) -> bool {
    matches!(gateway.sync_status, Some(SyncStatus::Error | SyncStatus::MissingSidecar))
}

fn is_same(facts: &Facts<'_>, was: &DiscoveredGateway, now: &Gateway) -> bool {
    was.sync_status == Some(now.status) && has_message(facts, was, now)
}

fn has_message(facts: &Facts<'_>, was: &DiscoveredGateway, now: &Gateway) -> bool {
    was.message.as_deref().unwrap_or_default() == listed_message(facts, now)
}

fn arrived(gateway: &Gateway, events: &mut Vec<Event>) {
    if !gateway.pod.has_agent {
        return;
    }
    let pod = &gateway.pod;
    let regarding = Regarding::Pod { name: pod.name.clone(), uid: pod.uid.clone() };
    let sync = pod.sync_name().unwrap_or_default();
    let note = format!("the agent of GatewaySync {sync:?} was injected");
    events
        .push(Event { regarding: regarding.clone(), ..Event::normal(EventReason::Injected, note) });
    if pod.lacks_gateway {
        let note = "no container of the pod has a gateway's data: there is nothing to sync";
        let told = Event::warning(EventReason::NotAGateway, note.to_owned());
        events.push(Event { regarding: regarding.clone(), ..told });
    }
    if pod.annotation(Annotation::CrNameDerived) == Some(TRUE) {
        let note = format!("the pod names no GatewaySync: {sync:?} is the only one here");
        let told = Event::normal(EventReason::CrNameDerived, note);
        events.push(Event { regarding: regarding.clone(), ..told });
    }
    if pod.annotation(Annotation::AgentImageRefused) == Some(TRUE) {
        let asked = pod.annotation(Annotation::AgentImage).unwrap_or_default();
        let note = format!(
            "{} {asked:?} is not of an allowed repository, the agent has the usual image: an \
             administrator can allow it with webhook.allowedAgentImages",
            Annotation::AgentImage
        );
        let told = Event::warning(EventReason::AgentImageRefused, note);
        events.push(Event { regarding, ..told });
    }
}

fn tell<'a>(
    reason: EventReason,
    gateways: impl Iterator<Item = &'a Gateway>,
    events: &mut Vec<Event>,
) {
    let gateways: Vec<&Gateway> = gateways.collect();
    for gateway in gateways.iter().take(SINGLE) {
        let note = format!("{}: {}", gateway.pod.name, gateway.message);
        events.push(Event::warning(reason, note));
    }
    if gateways.len() > SINGLE {
        let note = format!("and {} more gateways", gateways.len() - SINGLE);
        events.push(Event::warning(reason, note));
    }
}

fn drift(before: &GatewaySyncStatus, next: &GatewaySyncStatus, events: &mut Vec<Event>) {
    if condition(before, ConditionType::DriftDetected).is_none()
        && let Some(found) = condition(next, ConditionType::DriftDetected)
    {
        events.push(Event::warning(EventReason::DriftDetected, found.message.clone()));
    }
}

fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}

impl Event {
    fn normal(reason: EventReason, note: String) -> Self {
        Self { severity: Severity::Normal, reason, note, regarding: Regarding::Sync }
    }

    fn warning(reason: EventReason, note: String) -> Self {
        Self { severity: Severity::Warning, ..Self::normal(reason, note) }
    }
}
