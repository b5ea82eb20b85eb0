//! Whether every gateway is where it was asked to be: a function of the GatewaySync.

use jiff::Timestamp;
use stoker_api::GatewaySync;
use stoker_api::condition::{ConditionType, Reason, SyncStatus};
use stoker_api::gatewaysync::{DiscoveredGateway, GatewaySyncStatus};

use super::GatewayRow;
use crate::failure::Failure;

/// How far a request has got.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stand {
    /// Not there yet, because of this.
    Waiting(String),
    /// Every gateway is there.
    Done,
    /// Gateways failed. That may be about an older commit, or pass.
    Failing(Box<Failure>),
    /// It does not get there without help.
    Failed(Box<Failure>),
}

/// How far one gateway has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    UnderWay,
    There,
    /// It is paused, or only counts changes: it goes no further.
    AtRest,
    Failed,
}

/// Judges a GatewaySync that was asked to sync at a time.
pub(super) fn judge(sync: &GatewaySync, asked: Timestamp) -> Stand {
    let Some(status) = sync.status.as_ref().filter(|status| is_handled(status, asked)) else {
        let why = "the controller has not asked the remote yet, check that the operator runs";
        return Stand::Waiting(why.to_owned());
    };
    let Some(ready) = stoker_core::status::condition(status, ConditionType::Ready) else {
        return Stand::Waiting("the controller has not judged it yet".to_owned());
    };
    if ready.status == "True" {
        return Stand::Done;
    }
    let reason = Reason::find(&ready.reason).unwrap_or(Reason::Progressing);
    let name = sync.metadata.name.as_deref().unwrap_or_default();
    let namespace = sync.metadata.namespace.as_deref().unwrap_or_default();
    let failure = |hint: &str| {
        let hint = format!("{hint}: kubectl describe gatewaysync {name} -n {namespace}");
        Box::new(Failure::because(reason, ready.message.clone()).hint(hint))
    };
    match reason {
        Reason::Paused => {
            Stand::Failed(failure("the request counts when the pause ends; see who paused it"))
        }
        Reason::Progressing => Stand::Waiting(ready.message.clone()),
        Reason::GatewaysSyncing | Reason::GatewaysFailed | Reason::SidecarMissing => {
            let all = || status.discovered_gateways.iter().map(progress);
            let is_any = |progress| all().any(|it| it == progress);
            if is_any(Progress::UnderWay) {
                Stand::Waiting(ready.message.clone())
            } else if is_any(Progress::Failed) {
                Stand::Failing(failure("the request stays in force, agents try again; look at it"))
            } else if is_any(Progress::AtRest) {
                Stand::Done
            } else {
                // Pods that wait for a node are not gateways yet.
                Stand::Waiting(ready.message.clone())
            }
        }
        _ => Stand::Failed(failure("the request stays in force; look at it")),
    }
}

/// Says whether the controller has asked the remote since.
fn is_handled(status: &GatewaySyncStatus, asked: Timestamp) -> bool {
    let handled = status.last_handled_recheck_at.as_deref().and_then(|at| at.parse().ok());
    handled.is_some_and(|handled: Timestamp| handled >= asked)
}

fn progress(gateway: &DiscoveredGateway) -> Progress {
    match gateway.sync_status {
        Some(SyncStatus::Synced) => Progress::There,
        Some(SyncStatus::Paused | SyncStatus::DryRun) => Progress::AtRest,
        Some(SyncStatus::MissingSidecar | SyncStatus::Error | SyncStatus::Degraded) => {
            Progress::Failed
        }
        Some(SyncStatus::Pending | SyncStatus::Syncing) | None => Progress::UnderWay,
    }
}

impl GatewayRow {
    /// Lists the gateways of a GatewaySync.
    pub(super) fn all(sync: &GatewaySync) -> Vec<Self> {
        let listed = sync.status.iter().flat_map(|status| &status.discovered_gateways);
        let rows = listed.map(|gateway| Self {
            name: gateway.name.clone(),
            pod: gateway.pod_name.clone(),
            status: gateway.sync_status.unwrap_or(SyncStatus::Pending),
            commit: gateway.synced_commit.clone(),
            message: gateway.message.clone(),
        });
        rows.collect()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
    use stoker_api::gatewaysync::GatewaySyncSpec;

    use super::*;

    const ASKED: &str = "2026-11-16T12:00:00Z";

    fn judged(handled: Option<&str>, ready: (&str, Reason), gateways: &[SyncStatus]) -> Stand {
        let gateways = gateways.iter().map(|status| DiscoveredGateway {
            sync_status: Some(*status),
            ..DiscoveredGateway::default()
        });
        let mut sync = GatewaySync::new("plant", GatewaySyncSpec::default());
        sync.status = Some(GatewaySyncStatus {
            last_handled_recheck_at: handled.map(str::to_owned),
            discovered_gateways: gateways.collect(),
            conditions: vec![Condition {
                type_: ConditionType::Ready.to_string(),
                status: ready.0.to_owned(),
                reason: ready.1.to_string(),
                message: "why".to_owned(),
                observed_generation: None,
                last_transition_time: Time(Timestamp::UNIX_EPOCH),
            }],
            ..GatewaySyncStatus::default()
        });
        judge(&sync, ASKED.parse().unwrap())
    }

    #[test]
    fn what_was_ready_before_the_remote_was_asked_says_nothing() {
        let ready = ("True", Reason::AllSynced);
        for handled in [None, Some("2026-11-16T11:59:59Z"), Some("soon")] {
            assert!(matches!(judged(handled, ready, &[]), Stand::Waiting(_)), "{handled:?}");
        }
        for handled in [ASKED, "2026-11-16T12:00:07.5Z"] {
            assert_eq!(judged(Some(handled), ready, &[]), Stand::Done);
        }
    }

    #[test]
    fn it_ends_when_every_gateway_has_an_answer() {
        use SyncStatus::{DryRun, Error, MissingSidecar, Pending, Synced, Syncing};
        let syncing = ("False", Reason::GatewaysSyncing);
        let failed = ("False", Reason::GatewaysFailed);
        let waits = |stand| matches!(stand, Stand::Waiting(_));
        let fails = |stand| matches!(stand, Stand::Failing(_));
        assert!(waits(judged(Some(ASKED), syncing, &[Error, Syncing, Synced])));
        assert!(waits(judged(Some(ASKED), syncing, &[Pending])));
        assert!(waits(judged(Some(ASKED), syncing, &[Synced])), "a pod waits for a node");
        assert!(waits(judged(Some(ASKED), ("False", Reason::Progressing), &[Error])));
        assert!(fails(judged(Some(ASKED), failed, &[Error, Synced])));
        assert!(fails(judged(Some(ASKED), ("False", Reason::SidecarMissing), &[MissingSidecar])));
        assert_eq!(judged(Some(ASKED), syncing, &[DryRun, Synced]), Stand::Done);
    }

    #[test]
    fn what_needs_a_person_ends_it() {
        for reason in [Reason::Paused, Reason::RefResolutionFailed, Reason::NoGatewaysDiscovered] {
            let Stand::Failed(failure) = judged(Some(ASKED), ("False", reason), &[]) else {
                panic!("{reason}");
            };
            assert_eq!((failure.reason, failure.message.as_str()), (reason, "why"));
        }
    }
}
