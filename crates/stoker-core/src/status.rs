//! Facts become conditions, and conditions become the status of a GatewaySync.
//!
//! Each condition is one rule in `rules/`. Ready is decided from the others, in `ready.rs`.

mod listing;
mod ready;
mod rules;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use stoker_api::GatewaySync;
use stoker_api::condition::{ConditionType, Reason, RefResolutionStatus};
use stoker_api::contract::cap;
use stoker_api::contract::metadata::{Metadata, PausedBy};
use stoker_api::gatewaysync::{GatewayCounts, GatewaySyncStatus};
use stoker_api::limit;
use stoker_api::names::Annotation;

use crate::gateway::Gateway;
use crate::profile::{Invalid, Profiles};
use crate::reconcile::{HostKeys, Receiver, Remote};
use crate::request::Request;

pub(crate) use listing::listed_message;

/// The API server takes messages of up to 32 kB; people read far less.
const MESSAGE_BYTES: usize = 1024;

/// Everything that conditions are judged by.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The GatewaySync, with the status that is published.
    pub sync: &'a GatewaySync,
    /// The present time.
    pub now: Timestamp,
    /// Which ref is wanted.
    pub request: &'a Request,
    /// What pauses it.
    pub paused: Option<&'a PausedBy>,
    /// What the remote says about the wanted ref.
    pub remote: &'a Remote,
    /// Whether that answers the last request to ask it.
    pub is_current: bool,
    /// The embedded profiles.
    pub profiles: &'a Result<Profiles, Invalid>,
    /// What agents are given.
    pub metadata: Option<&'a Metadata>,
    /// The gateways.
    pub gateways: &'a [Gateway],
    /// How many pods wait for a node.
    pub waiting: usize,
    /// The host keys of the git server.
    pub host_keys: &'a HostKeys,
    /// The receiver of push events.
    pub receiver: Receiver,
    /// The commit of which it was last told that all gateways have it.
    pub completed: Option<&'a str>,
    /// Why an object could not be written.
    pub failed_write: Option<&'a str>,
}

/// How a condition is judged.
pub(crate) struct Rule {
    condition: ConditionType,
    judge: Judge,
}

/// Whether a condition is always there.
pub(crate) enum Judge {
    /// It is.
    Always(fn(&Facts<'_>) -> Judgement),
    /// It is absent where the rule says nothing.
    WhereItApplies(fn(&Facts<'_>) -> Option<Judgement>),
}

/// What a rule says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Judgement {
    status: Truth,
    reason: Reason,
    message: String,
}

/// The three values that a condition can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Truth {
    True,
    False,
    Unknown,
}

/// Builds the status.
pub fn build(facts: &Facts<'_>) -> GatewaySyncStatus {
    let judged: Vec<(ConditionType, Judgement)> = rules::RULES
        .iter()
        .filter_map(|rule| Some((rule.condition, rule.judge.ask(facts)?)))
        .collect();
    let ready = ready::judge(facts, &judged);
    let progress = ready::progress(facts, &ready);
    let all = std::iter::once((ConditionType::Ready, ready)).chain(judged).chain(progress);
    let conditions = all.map(|(kind, judgement)| facts.condition(kind, &judgement)).collect();
    let resolved = facts.remote.resolution();
    let before = facts.previous();
    let synced = last_synced(facts, &before);
    let announced = facts.metadata.and_then(|metadata| metadata.commit.as_ref());
    let status = GatewaySyncStatus {
        observed_generation: facts.sync.metadata.generation,
        resolved_ref: resolved.map(|it| it.name.to_string()).or(before.resolved_ref.clone()),
        resolved_commit: announced.map(ToString::to_string),
        last_handled_recheck_at: handled(facts, &before),
        ref_resolution_status: Some(match facts.remote {
            Remote::Asked => RefResolutionStatus::Resolving,
            Remote::Resolved(_) => RefResolutionStatus::Resolved,
            Remote::Failed(_) => RefResolutionStatus::Error,
        }),
        profile_count: facts
            .sync
            .spec
            .sync
            .as_ref()
            .and_then(|sync| i32::try_from(sync.profiles.len()).ok())
            .or(Some(0)),
        gateways: Some(counts(facts.gateways)),
        discovered_gateways: listing::gateways(facts),
        conditions,
        ..synced
    };
    with_last_sync(facts, status)
}

/// Returns the last request to ask the remote that has been answered.
fn handled(facts: &Facts<'_>, before: &GatewaySyncStatus) -> Option<String> {
    if !facts.is_current || *facts.remote == Remote::Asked {
        return before.last_handled_recheck_at.clone();
    }
    let annotations = facts.sync.metadata.annotations.as_ref()?;
    let at = annotations.get(Annotation::RecheckAt.as_str())?;
    Some(cap::text(at, limit::REPORT_NAME_BYTES))
}

/// Returns the published status with a Ready that says that a pass failed: nothing newer is known.
/// A GatewaySync that is paused stays so.
pub fn with_failed_pass(sync: &GatewaySync, message: &str, now: Timestamp) -> GatewaySyncStatus {
    let mut status = sync.status.clone().unwrap_or_default();
    let before = std::mem::take(&mut status.conditions);
    let is_paused = |it: &Condition| it.reason == Reason::Paused.as_str();
    if before.iter().any(is_paused) {
        status.conditions = before;
        return status;
    }
    let conditions = [
        (ConditionType::Ready, Judgement::no(Reason::Progressing, message)),
        (ConditionType::Reconciling, Judgement::yes(Reason::Progressing, message)),
    ];
    let said = conditions
        .map(|(kind, judgement)| judgement.condition(kind, sync.metadata.generation, &before, now));
    let replaced = [ConditionType::Ready, ConditionType::Reconciling, ConditionType::Stalled];
    let kept =
        before.into_iter().filter(|it| replaced.iter().all(|kind| it.type_ != kind.as_str()));
    status.conditions = said.into_iter().chain(kept).collect();
    status
}

/// Finds a condition in a status.
pub fn condition(status: &GatewaySyncStatus, kind: ConditionType) -> Option<&Condition> {
    status.conditions.iter().find(|condition| condition.type_ == kind.as_str())
}

/// Returns what was last synced. What only followed the ref means nothing once there is a gateway.
fn last_synced(facts: &Facts<'_>, before: &GatewaySyncStatus) -> GatewaySyncStatus {
    let had_gateways = before.gateways.is_some_and(|counts| counts.discovered > 0);
    if !had_gateways && !facts.gateways.is_empty() {
        return GatewaySyncStatus::default();
    }
    GatewaySyncStatus {
        last_sync_time: before.last_sync_time.clone(),
        last_sync_ref: before.last_sync_ref.clone(),
        last_sync_commit: before.last_sync_commit.clone(),
        last_sync_commit_short: before.last_sync_commit_short.clone(),
        ..GatewaySyncStatus::default()
    }
}

/// With gateways the last sync is what all of them have; without any it follows the resolved ref.
fn with_last_sync(facts: &Facts<'_>, status: GatewaySyncStatus) -> GatewaySyncStatus {
    let Some(metadata) = facts.metadata else { return status };
    let Some(commit) = &metadata.commit else { return status };
    let is_there = match facts.gateways {
        [] => facts.remote.resolution().is_some(),
        all => all.iter().all(Gateway::is_synced) && facts.remote.resolution().is_some(),
    };
    if !is_there {
        return status;
    }
    let reports = facts.gateways.iter().filter_map(|gateway| gateway.report.as_ref());
    let latest = reports.filter_map(|report| report.synced_at).max();
    let is_new = status.last_sync_commit.as_deref() != Some(commit.as_str());
    let fallback = if is_new { Some(facts.now) } else { None };
    let time = latest.or(fallback).map(whole_seconds).or(status.last_sync_time);
    GatewaySyncStatus {
        last_sync_time: time,
        last_sync_ref: Some(metadata.git_ref.to_string()),
        last_sync_commit: Some(commit.to_string()),
        last_sync_commit_short: Some(commit.short().to_owned()),
        ..status
    }
}

/// The API server keeps whole seconds: with more, a status would never equal the one it returns.
pub(crate) fn whole_seconds(time: Timestamp) -> Time {
    Time(Timestamp::from_second(time.as_second()).unwrap_or(time))
}

fn counts(gateways: &[Gateway]) -> GatewayCounts {
    let count = |holds: &dyn Fn(&Gateway) -> bool| {
        i32::try_from(gateways.iter().filter(|gateway| holds(gateway)).count()).unwrap_or(i32::MAX)
    };
    GatewayCounts {
        discovered: count(&|_| true),
        synced: count(&Gateway::is_synced),
        behind: count(&|gateway| !gateway.is_synced() && !gateway.is_failed()),
        failed: count(&Gateway::is_failed),
    }
}

impl Judge {
    fn ask(&self, facts: &Facts<'_>) -> Option<Judgement> {
        match self {
            Self::Always(judge) => Some(judge(facts)),
            Self::WhereItApplies(judge) => judge(facts),
        }
    }
}

impl Facts<'_> {
    /// Returns the status that is published.
    pub(crate) fn previous(&self) -> GatewaySyncStatus {
        self.sync.status.clone().unwrap_or_default()
    }

    fn condition(&self, kind: ConditionType, judgement: &Judgement) -> Condition {
        let before = self.sync.status.iter().flat_map(|status| &status.conditions);
        judgement.condition(kind, self.sync.metadata.generation, before, self.now)
    }
}

impl Judgement {
    pub(crate) fn yes(reason: Reason, message: impl Into<String>) -> Self {
        Self { status: Truth::True, reason, message: message.into() }
    }

    pub(crate) fn no(reason: Reason, message: impl Into<String>) -> Self {
        Self { status: Truth::False, reason, message: message.into() }
    }

    pub(crate) fn unknown(reason: Reason, message: impl Into<String>) -> Self {
        Self { status: Truth::Unknown, reason, message: message.into() }
    }

    /// Returns the condition; it keeps the time of the published one where its status is the same.
    pub(crate) fn condition<'a>(
        &self,
        kind: ConditionType,
        generation: Option<i64>,
        published: impl IntoIterator<Item = &'a Condition>,
        now: Timestamp,
    ) -> Condition {
        let status = self.status.as_str();
        let mut published = published.into_iter();
        let before = published.find(|it| it.type_ == kind.as_str() && it.status == status);
        Condition {
            type_: kind.as_str().to_owned(),
            status: status.to_owned(),
            reason: self.reason.as_str().to_owned(),
            message: cap::text(&self.message, MESSAGE_BYTES),
            observed_generation: generation,
            last_transition_time: before
                .map_or_else(|| whole_seconds(now), |before| before.last_transition_time.clone()),
        }
    }
}

impl Truth {
    fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

#[cfg(test)]
mod tests;
