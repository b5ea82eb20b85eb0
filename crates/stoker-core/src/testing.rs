//! Values for the tests of this crate: a plant whose gateways are as a test wants them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use stoker_api::GatewaySync;
use stoker_api::condition::{ConditionType, SyncStatus};
use stoker_api::contract::metadata::Metadata;
use stoker_api::contract::report::Report;
use stoker_api::gatewaysync::GatewaySyncStatus;
use stoker_api::names::{Annotation, TRUE};
use stoker_api::word::{Commit, RepoUrl};
use stoker_testkit::object::{GatewaySyncBuilder, gateway_sync};

use crate::applied::{self, Applied};
use crate::gateway::Pod;
use crate::reconcile::{
    Failure, HostKeys, Observed, Receiver, Remote, Rights, TokenWriter, Verdict, Write, decide,
};
use crate::refs::Resolution;
use crate::status::condition;

pub(crate) const NOW: &str = "2026-11-16T12:00:00Z";
pub(crate) const URL: &str = "https://git.example.com/plant.git";

/// Returns the present time of all tests.
pub(crate) fn now() -> Timestamp {
    NOW.parse().unwrap()
}

/// Returns a commit made of one digit.
pub(crate) fn commit(digit: char) -> Commit {
    Commit::parse(&digit.to_string().repeat(40)).unwrap()
}

/// Starts a GatewaySync with one profile, as the API server would return it.
pub(crate) fn plant() -> GatewaySyncBuilder {
    gateway_sync("plant").namespace("line").repo(URL).mapping("projects", "projects")
}

/// Finishes a GatewaySync: what the API server adds.
pub(crate) fn stored(builder: GatewaySyncBuilder) -> GatewaySync {
    let mut sync = builder.build();
    sync.metadata.generation = Some(1);
    sync.metadata.uid = Some("uid".into());
    sync.metadata.finalizers = Some(vec![stoker_api::names::FINALIZER.into()]);
    sync
}

/// Returns a pod with an agent that runs on a node.
pub(crate) fn pod(name: &str) -> Pod {
    Pod {
        name: name.into(),
        namespace: "line".into(),
        uid: format!("uid-{name}"),
        service_account: "default".into(),
        is_scheduled: true,
        is_running: true,
        is_ending: false,
        has_agent: true,
        injected: None,
        lacks_gateway: false,
        app_name: None,
        annotations: BTreeMap::from([
            (Annotation::CrName, "plant".to_owned()),
            (Annotation::Inject, TRUE.to_owned()),
        ]),
    }
}

impl Pod {
    /// Annotates the pod.
    pub(crate) fn annotated(mut self, annotation: Annotation, value: &str) -> Self {
        self.annotations.insert(annotation, value.to_owned());
        self
    }
}

/// What a remote says whose branch `main` is at this commit.
pub(crate) fn resolved(commit: Commit) -> Remote {
    Remote::Resolved(Resolution { name: "refs/heads/main".into(), commit, warnings: Vec::new() })
}

/// What a remote says that can't be reached.
pub(crate) fn unreachable() -> Remote {
    let reason = stoker_api::condition::Reason::RemoteUnreachable;
    Remote::Failed(Failure { reason, message: "no route to host".into() })
}

/// Observes a plant whose ref is resolved, with nothing published yet.
pub(crate) fn observed(pods: Vec<Pod>) -> Observed {
    Observed {
        repository: Some(RepoUrl::parse(URL).unwrap()),
        remote: resolved(commit('a')),
        is_current: true,
        asked_by: None,
        overrides: BTreeMap::new(),
        host_keys: HostKeys::NotNeeded,
        published: None,
        sync_profiles: BTreeMap::new(),
        pods,
        completed: None,
        unlisted: None,
        failed_write: None,
        reports: BTreeMap::new(),
        legacy: BTreeMap::new(),
        shards: [0].into(),
        rights: Rights::NotManaged,
        token_writer: TokenWriter::NotManaged,
        injection: None,
        emergency: None,
        receiver: Receiver::Off,
    }
}

/// Decides at [`NOW`].
pub(crate) fn decided(sync: &GatewaySync, observed: &Observed) -> Verdict {
    decide(sync, observed, now())
}

/// Decides again, after everything that was decided has been written.
pub(crate) fn settled(sync: &mut GatewaySync, observed: &mut Observed) -> Verdict {
    let verdict = decided(sync, observed);
    if let Some(metadata) = published(&verdict) {
        observed.published = Some(Ok(metadata));
    }
    // As the API server returns it.
    let stored = serde_json::to_string(&verdict.status).unwrap();
    sync.status = Some(serde_json::from_str(&stored).unwrap());
    observed.unlisted = Some(verdict.unlisted.clone().into());
    verdict
}

/// Returns the metadata that is to be written.
pub(crate) fn published(verdict: &Verdict) -> Option<Metadata> {
    verdict.writes.iter().find_map(|write| match write {
        Write::Metadata(metadata) => Some(Metadata::clone(metadata)),
        _ => None,
    })
}

/// Returns the report of an agent that has applied exactly this metadata.
pub(crate) fn synced(pod: &Pod, metadata: &Metadata) -> Report {
    let target = metadata.target_of(&pod.name).unwrap();
    let hash = applied::hash(&Applied {
        url: &metadata.git_url,
        commit: &target.commit,
        profile: pod.choice().find(metadata).unwrap(),
        exclude_patterns: pod.annotation(Annotation::ExcludePatterns),
        gateway_name: pod.annotation(Annotation::GatewayName),
    });
    Report {
        commit: Some(target.commit),
        git_ref: Some(target.git_ref),
        applied: Some(hash),
        // Agents have finer clocks than the API server.
        synced_at: Some(now() + std::time::Duration::from_nanos(123_456_789)),
        ..Report::new(pod.gateway_name(), &pod.name, &pod.uid, SyncStatus::Synced)
    }
}

/// Returns status and reason of a condition.
pub(crate) fn stands(status: &GatewaySyncStatus, kind: ConditionType) -> Option<(&str, &str)> {
    condition(status, kind).map(|found| (found.status.as_str(), found.reason.as_str()))
}
