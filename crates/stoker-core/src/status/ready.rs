//! Ready, and the two conditions that say whether waiting helps: Reconciling and Stalled.
//!
//! Ready depends on RefResolved, ProfilesValid, SidecarInjected and AllGatewaysSynced, in this
//! order. It does not depend on SSHHostKeyVerification, WebhookReady, DriftDetected and
//! DeletionBlocked.

use stoker_api::condition::{ConditionType, Reason};
use stoker_api::contract::metadata::PausedBy;

use super::{Facts, Judgement, Truth};
use crate::gateway::Gateway;

const NEEDED: [ConditionType; 4] = [
    ConditionType::RefResolved,
    ConditionType::ProfilesValid,
    ConditionType::SidecarInjected,
    ConditionType::AllGatewaysSynced,
];

/// Decides Ready from the other conditions.
pub(super) fn judge(facts: &Facts<'_>, judged: &[(ConditionType, Judgement)]) -> Judgement {
    if let Some(paused) = facts.paused {
        let message = paused_message(paused);
        let untold = facts.failed_write.map(|fault| format!("; agents may not know: {fault}"));
        return Judgement::no(Reason::Paused, message + &untold.unwrap_or_default());
    }
    if let Some(fault) = facts.failed_write {
        return Judgement::no(Reason::Progressing, fault);
    }
    let needed = NEEDED.iter().filter_map(|kind| judged.iter().find(|(it, _)| it == kind));
    for (kind, judgement) in needed {
        if judgement.status != Truth::True {
            return failing(facts, *kind, judgement);
        }
    }
    if facts.waiting > 0 {
        let message = waiting_message(facts.waiting);
        return Judgement::no(Reason::GatewaysSyncing, message);
    }
    let count = facts.gateways.len();
    let commit = facts.metadata.and_then(|metadata| metadata.commit.as_ref());
    let commit = commit.map_or_else(String::new, |commit| format!(" at {}", commit.short()));
    Judgement::yes(Reason::AllSynced, format!("{count} gateway(s) synced{commit}"))
}

fn paused_message(paused: &PausedBy) -> String {
    match paused {
        PausedBy::Spec => "paused by spec.paused".to_owned(),
        PausedBy::Emergency { reason } if reason.is_empty() => {
            "stopped for all GatewaySyncs by the ConfigMap stoker-pause".to_owned()
        }
        PausedBy::Emergency { reason } => {
            format!("stopped for all GatewaySyncs by the ConfigMap stoker-pause: {reason}")
        }
    }
}

fn failing(facts: &Facts<'_>, kind: ConditionType, judgement: &Judgement) -> Judgement {
    let waiting = match facts.waiting {
        0 => String::new(),
        count => format!("; {}", waiting_message(count)),
    };
    let (reason, message) = match (kind, judgement.reason) {
        (ConditionType::AllGatewaysSynced, Reason::NoGatewaysDiscovered) => {
            let hint = "no pod names this GatewaySync (annotation stoker.io/cr-name)";
            (Reason::NoGatewaysDiscovered, hint.to_owned())
        }
        (ConditionType::AllGatewaysSynced, Reason::SyncInProgress) => {
            (Reason::GatewaysSyncing, with_first(facts, &judgement.message))
        }
        (ConditionType::AllGatewaysSynced, reason) => {
            (reason, with_first(facts, &judgement.message))
        }
        (_, reason) => (reason, judgement.message.clone()),
    };
    Judgement::no(reason, message + &waiting)
}

/// Names the gateway that needs attention most.
fn with_first(facts: &Facts<'_>, message: &str) -> String {
    let worst = facts.gateways.iter().filter(|gateway| !gateway.is_synced());
    let worst = worst.min_by_key(|gateway| gateway.urgency());
    match worst {
        Some(Gateway { pod, status, message: why, .. }) if !why.is_empty() => {
            format!("{message}; {} {status}: {why}", pod.name)
        }
        Some(Gateway { pod, status, .. }) => format!("{message}; {} {status}", pod.name),
        None => message.to_owned(),
    }
}

fn waiting_message(count: usize) -> String {
    format!("{count} pod(s) wait for a node")
}

/// Says whether waiting helps: Reconciling where it does, Stalled where someone has to act.
pub(super) fn progress(facts: &Facts<'_>, ready: &Judgement) -> Option<(ConditionType, Judgement)> {
    if ready.status == Truth::True {
        return None;
    }
    match ready.reason {
        Reason::ProfilesInvalid => {
            let message = ready.message.clone();
            Some((ConditionType::Stalled, Judgement::yes(Reason::ProfilesInvalid, message)))
        }
        Reason::GatewaysSyncing | Reason::Progressing => {
            let message = match facts.remote {
                crate::reconcile::Remote::Asked => "the remote is being asked".to_owned(),
                _ => ready.message.clone(),
            };
            Some((ConditionType::Reconciling, Judgement::yes(Reason::Progressing, message)))
        }
        _ => None,
    }
}
