//! What is observed of one GatewaySync becomes what is to be done: the whole decision on one page.

mod event;
mod finished;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use stoker_api::condition::{Reason, Requester};
use stoker_api::contract::cap;
use stoker_api::contract::metadata::{Metadata, PausedBy, Profile, Target};
use stoker_api::contract::report::Report;
use stoker_api::gatewaysync::{GatewaySyncStatus, Overrides, Sync};
use stoker_api::names::Annotation;
use stoker_api::word::{RefName, RepoUrl};
use stoker_api::{GatewaySync, SyncProfile, limit};

use crate::admission;
use crate::gateway::{self, Choice, Gateway, LegacyReports, Pod};
use crate::metadata;
use crate::profile::Profiles;
use crate::refs::Resolution;
use crate::request::{self, Request};
use crate::status::{self, Facts};
use finished::Trail;

pub use event::{Event, Regarding, Severity, received};
pub use finished::LastSync;
pub use write::Write;

/// Everything that was observed of one GatewaySync. A failed read is a value in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// The repository; none where it is not valid or not allowed, and then `remote` says why.
    pub repository: Option<RepoUrl>,
    /// What the remote says about the wanted ref.
    pub remote: Remote,
    /// Whether `remote` answers the last request to ask it (`stoker.io/recheck-at`).
    pub is_current: bool,
    /// Who made the controller ask the remote, where someone did.
    pub asked_by: Option<Requester>,
    /// What the remote says about the refs of single pods.
    pub overrides: BTreeMap<String, Remote>,
    /// The host keys to verify against.
    pub host_keys: HostKeys,
    /// The metadata that is published; a fault where it can't be read.
    pub published: Option<Result<Metadata, String>>,
    /// The SyncProfiles of the namespace that pods name.
    pub sync_profiles: BTreeMap<String, SyncProfile>,
    /// The pods that name this GatewaySync and have not ended.
    pub pods: Vec<Pod>,
    /// What agents reported, by the name of the pod.
    pub reports: BTreeMap<String, Result<Arc<Report>, String>>,
    /// What agents of the Go operator reported.
    pub legacy: LegacyReports,
    /// The status objects that exist.
    pub shards: BTreeSet<u8>,
    /// The rights of agents.
    pub rights: Rights,
    /// The right to hand tokens of GitHub Apps to agents.
    pub token_writer: TokenWriter,
    /// What the webhook would give a pod now; none where that is not known.
    pub injection: Option<Arc<admission::Settings>>,
    /// The reason of the emergency stop, where it is in force.
    pub emergency: Option<String>,
    /// The receiver of push events.
    pub receiver: Receiver,
    /// The commit of which it was last told that all gateways have it.
    pub completed: Option<String>,
    /// The last sync of each gateway that the status had no room for; none before the first pass.
    pub unlisted: Option<Arc<BTreeMap<String, LastSync>>>,
    /// Why an object could not be written that was decided from the same facts.
    pub failed_write: Option<String>,
}

/// What a remote says about a ref.
#[derive(Debug, Clone, PartialEq)]
pub enum Remote {
    /// It is being asked for the first time.
    Asked,
    /// The ref stands for a commit.
    Resolved(Resolution),
    /// The ref could not be resolved.
    Failed(Failure),
}

/// Why something could not be resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The reason of the condition RefResolved.
    pub reason: Reason,
    /// What happened, and what to do.
    pub message: String,
}

/// The host keys of the git server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostKeys {
    /// Git does not use SSH.
    NotNeeded,
    /// The spec names them. Agents have them as a file.
    Given,
    /// The controller pinned those that it saw first; none before the first connection.
    Pinned(Option<String>),
}

/// What the cluster has of the agents' Role and RoleBinding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rights {
    /// The administrator binds agents.
    NotManaged,
    /// The controller binds them.
    Managed {
        /// How many status objects the Role covers; none where there is no Role.
        role: Option<u8>,
        /// The service accounts that are bound; none where there is no RoleBinding.
        bound: Option<BTreeSet<String>>,
    },
}

/// Whether the controller may write Secrets in the namespace of a GatewaySync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenWriter {
    /// The administrator gives the right, or none is needed.
    NotManaged,
    /// The controller binds itself, as soon as a GatewaySync needs it.
    Managed {
        /// Whether it has.
        is_bound: bool,
    },
}

/// How the receiver of push events stands for this GatewaySync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receiver {
    /// It does not run, or is switched off for this GatewaySync.
    Off,
    /// It has a secret.
    Active,
    /// It takes push events without authentication.
    Insecure,
    /// It has no secret.
    NoSecret,
    /// The Secret that the spec names does not exist.
    SecretNotFound,
    /// The Secret that the spec names could not be read so far.
    SecretUnread,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// What is to be written, in this order.
    pub writes: Vec<Write>,
    /// The status. It counts on the writes: where one fails, the decision is made again with
    /// [`Observed::failed_write`].
    pub status: GatewaySyncStatus,
    /// What is told, if the status is published.
    pub events: Vec<Event>,
    /// The gateways, for metrics.
    pub gateways: Vec<Gateway>,
    /// One line of the audit trail for each sync that has finished, if the status is published.
    pub finished: Vec<String>,
    /// What the audit trail then has of the gateways that the status has no room for.
    pub unlisted: BTreeMap<String, LastSync>,
}

/// Decides what is to be done about one GatewaySync.
pub fn decide(sync: &GatewaySync, observed: &Observed, now: Timestamp) -> Verdict {
    let request = requested(sync, now);
    let paused = paused_by(sync, observed);
    let profiles = Profiles::of(&sync.spec.sync.clone().unwrap_or_default());
    let objects = chosen_objects(sync, observed);
    let (overrides, override_faults) = overridden(observed);
    let previous = observed.published.as_ref().and_then(|published| published.as_ref().ok());
    let next = metadata::build(&metadata::Sources {
        sync,
        url: observed.repository.as_ref(),
        request: &request,
        commit: observed.remote.resolution().map(|resolution| &resolution.commit),
        profiles: profiles.as_ref().ok(),
        sync_profiles: &objects,
        overrides: &overrides,
        paused: paused.as_ref(),
        known_hosts: observed.host_keys.pinned(),
        asked_by: observed.asked_by,
        pods: observed.pods.len(),
        last_shard: observed.shards.last().copied(),
        previous,
    });
    let published = gateway::Published {
        metadata: next.as_ref(),
        override_faults: Some(&override_faults),
        legacy: Some(&observed.legacy),
    };
    let gateways = judged(sync, observed, published);
    let facts = Facts {
        sync,
        now,
        request: &request,
        paused: paused.as_ref(),
        remote: &observed.remote,
        is_current: observed.is_current,
        profiles: &profiles,
        metadata: next.as_ref(),
        gateways: &gateways,
        waiting: observed.pods.iter().filter(|pod| !pod.is_scheduled).count(),
        host_keys: &observed.host_keys,
        receiver: observed.receiver,
        completed: observed.completed.as_deref(),
        failed_write: observed.failed_write.as_deref(),
    };
    let status = status::build(&facts);
    let events = event::events(&facts, &status);
    let Trail { lines: finished, unlisted } =
        finished::trail(&facts, &status, observed.unlisted.as_deref());
    let wanted = write::Wanted { request: &request, metadata: next.as_ref(), gateways: &gateways };
    let writes = write::writes(sync, observed, &wanted);
    Verdict { writes, status, events, gateways, finished, unlisted }
}

fn judged(
    sync: &GatewaySync,
    observed: &Observed,
    published: gateway::Published<'_>,
) -> Vec<Gateway> {
    let scheduled = observed.pods.iter().filter(|pod| pod.is_scheduled);
    let judged = scheduled.map(|pod| {
        let mut gateway = gateway::judge(pod, observed.reports.get(&pod.name), published);
        let settings = observed.injection.as_deref();
        gateway.restart_needed =
            settings.and_then(|settings| gateway::restart_reason(&gateway, sync, settings));
        gateway
    });
    judged.collect()
}

/// Returns which ref is wanted of a GatewaySync.
pub fn requested(sync: &GatewaySync, now: Timestamp) -> Request {
    let none = BTreeMap::new();
    let annotations = sync.metadata.annotations.as_ref().unwrap_or(&none);
    request::decide(annotations, &sync.spec.git.git_ref, now)
}

/// The emergency stop counts more than the spec, because its reason does.
fn paused_by(sync: &GatewaySync, observed: &Observed) -> Option<PausedBy> {
    match &observed.emergency {
        Some(reason) => Some(emergency(reason)),
        None => (sync.spec.paused == Some(true)).then_some(PausedBy::Spec),
    }
}

/// What agents are told of the emergency stop. Cut as it is published: what is published would
/// differ for ever else.
pub fn emergency(reason: &str) -> PausedBy {
    PausedBy::Emergency { reason: cap::text(reason, limit::REPORT_MESSAGE_BYTES) }
}

/// The SyncProfiles that pods name, as far as they are valid.
fn chosen_objects(sync: &GatewaySync, observed: &Observed) -> BTreeMap<String, Profile> {
    let defaults = defaults_of(sync.spec.sync.as_ref());
    let names = observed.pods.iter().filter_map(|pod| match pod.choice() {
        Choice::Object(name) => Some(name),
        Choice::Embedded(_) => None,
    });
    let found = names.filter_map(|name| {
        let object = observed.sync_profiles.get(name)?;
        Some((name.to_owned(), Profiles::of_object(object, &defaults).ok()?))
    });
    found.collect()
}

fn defaults_of(sync: Option<&Sync>) -> Overrides {
    sync.and_then(|sync| sync.defaults.clone()).unwrap_or_default()
}

/// Pods with a ref of their own: what they get, and why others get nothing yet.
///
/// While a ref can't be resolved, what was published for it stays.
fn overridden(observed: &Observed) -> (BTreeMap<String, Target>, BTreeMap<String, String>) {
    let previous = observed.published.as_ref().and_then(|published| published.as_ref().ok());
    let (mut targets, mut faults) = (BTreeMap::new(), BTreeMap::new());
    for pod in &observed.pods {
        let Some(remote) = observed.overrides.get(&pod.name) else { continue };
        let text = pod.annotation(Annotation::RefOverride).unwrap_or_default();
        let kept = previous.and_then(|previous| previous.overrides.get(&pod.name));
        let kept = kept.filter(|target| target.git_ref.as_str() == text);
        match (remote, RefName::parse(text)) {
            (Remote::Resolved(resolution), Ok(git_ref)) => {
                let target = Target { git_ref, commit: resolution.commit.clone() };
                targets.insert(pod.name.clone(), target);
            }
            (Remote::Failed(failure), _) => {
                faults.insert(
                    pod.name.clone(),
                    format!("stoker.io/ref-override: {}", failure.message),
                );
                targets.extend(kept.map(|kept| (pod.name.clone(), kept.clone())));
            }
            (Remote::Asked, _) | (Remote::Resolved(_), Err(_)) => {
                targets.extend(kept.map(|kept| (pod.name.clone(), kept.clone())));
            }
        }
    }
    (targets, faults)
}

impl Remote {
    /// Returns the resolution, where there is one.
    pub fn resolution(&self) -> Option<&Resolution> {
        match self {
            Self::Resolved(resolution) => Some(resolution),
            Self::Asked | Self::Failed(_) => None,
        }
    }
}

impl HostKeys {
    fn pinned(&self) -> Option<&str> {
        match self {
            Self::Pinned(keys) => keys.as_deref(),
            Self::NotNeeded | Self::Given => None,
        }
    }
}

#[cfg(test)]
mod tests;
