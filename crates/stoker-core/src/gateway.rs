//! Pods and their reports become gateways.
//!
//! Whether a gateway is synced is decided here and nowhere else: its agent must say so, for this
//! very pod, about exactly what was published.

mod judge;
mod legacy;
mod restart;

use std::collections::BTreeMap;
use std::sync::Arc;

use stoker_api::condition::{Reason, SyncStatus};
use stoker_api::contract::metadata::{Metadata, Profile};
use stoker_api::contract::report::Report;
use stoker_api::names::{Annotation, TRUE};
use stoker_api::word::{Commit, GatewayName, ProfileName};

pub use judge::{Published, judge};
pub use legacy::{LegacyReport, LegacyReports, read_legacy};
pub use restart::{Injected, needs_restart, restart_reason};

/// What the controller knows of a pod.
#[expect(clippy::struct_excessive_bools, reason = "facts about a pod, in any combination")]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pod {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its UID: a recreated pod of the same name has another.
    pub uid: String,
    /// Its service account.
    pub service_account: String,
    /// Whether a node has taken it.
    pub is_scheduled: bool,
    /// Whether its containers were started, according to its phase.
    pub is_running: bool,
    /// Whether it is being deleted, or has ended.
    pub is_ending: bool,
    /// Whether it has the agent's container.
    pub has_agent: bool,
    /// What the webhook gave it; none where it has no agent.
    pub injected: Option<Box<Injected>>,
    /// Whether no container of it has a gateway's data: then the webhook gave the agent a volume of
    /// its own.
    pub lacks_gateway: bool,
    /// Its label `app.kubernetes.io/name`.
    pub app_name: Option<String>,
    /// Its annotations of Stoker.
    pub annotations: BTreeMap<Annotation, String>,
}

/// The profile that a pod chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice<'a> {
    /// One of `spec.sync.profiles`.
    Embedded(&'a str),
    /// A SyncProfile object.
    Object(&'a str),
}

/// A gateway and how it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Gateway {
    /// Its pod.
    pub pod: Pod,
    /// Its name.
    pub name: GatewayName,
    /// How it stands.
    pub status: SyncStatus,
    /// Why, in one word.
    pub reason: Option<Reason>,
    /// Why, in one sentence.
    pub message: String,
    /// What its agent reported, where that is about this pod.
    pub report: Option<Arc<Report>>,
    /// The commit that it is to have.
    pub wanted: Option<Commit>,
    /// Whether its pod has a ref of its own.
    pub is_overridden: bool,
    /// What its agent reported, where that is one of the Go operator.
    pub legacy: Option<LegacyReport>,
    /// Why its pod has to be restarted before a change takes effect there.
    pub restart_needed: Option<String>,
}

/// Returns the name of a gateway: a pure function of one pod.
///
/// A name that can't be a gateway's is passed over; the name of a pod always can be one.
pub fn name_of(annotation: Option<&str>, label: Option<&str>, pod_name: &str) -> GatewayName {
    let given = [annotation, label].into_iter().flatten().filter(|text| !text.is_empty());
    given
        .chain([pod_name])
        .find_map(|text| GatewayName::parse(text).ok())
        .unwrap_or_else(|| GatewayName::parse("gateway").expect("this is a valid name"))
}

impl Pod {
    /// Returns an annotation that is not empty.
    pub fn annotation(&self, annotation: Annotation) -> Option<&str> {
        let value = self.annotations.get(&annotation).map(String::as_str);
        value.filter(|text| !text.is_empty())
    }

    /// Returns the GatewaySync that the pod names.
    pub fn sync_name(&self) -> Option<&str> {
        self.annotation(Annotation::CrName)
    }

    /// Says whether the pod asks for an agent.
    pub fn asks_for_agent(&self) -> bool {
        self.annotation(Annotation::Inject) == Some(TRUE)
    }

    /// Returns the name of its gateway.
    pub fn gateway_name(&self) -> GatewayName {
        let annotation = self.annotation(Annotation::GatewayName);
        name_of(annotation, self.app_name.as_deref(), &self.name)
    }

    /// Returns the profile that it chooses: the one named `default` where it chooses none.
    pub fn choice(&self) -> Choice<'_> {
        match (self.annotation(Annotation::SyncProfile), self.annotation(Annotation::Profile)) {
            (Some(object), _) => Choice::Object(object),
            (None, Some(name)) => Choice::Embedded(name),
            (None, None) => Choice::Embedded(ProfileName::DEFAULT),
        }
    }
}

impl<'a> Choice<'a> {
    /// Returns the name.
    pub fn name(self) -> &'a str {
        match self {
            Self::Embedded(name) | Self::Object(name) => name,
        }
    }

    /// Returns the profile as it was published.
    pub fn find(self, metadata: &Metadata) -> Option<&Profile> {
        match self {
            Self::Embedded(name) => metadata.profiles.get(name),
            Self::Object(name) => metadata.sync_profiles.get(name),
        }
    }
}

impl Gateway {
    /// Says whether it is synced at the commit that it is to have.
    pub fn is_synced(&self) -> bool {
        self.status == SyncStatus::Synced
    }

    /// Says whether it needs attention.
    pub fn is_failed(&self) -> bool {
        matches!(self.status, SyncStatus::Error | SyncStatus::Degraded | SyncStatus::MissingSidecar)
    }

    /// Orders gateways for people: what needs attention first.
    pub fn urgency(&self) -> u8 {
        match self.status {
            SyncStatus::Error => 0,
            SyncStatus::MissingSidecar => 1,
            SyncStatus::Degraded => 2,
            SyncStatus::Pending => 3,
            SyncStatus::Syncing => 4,
            SyncStatus::Paused => 5,
            SyncStatus::DryRun => 6,
            SyncStatus::Synced => 7,
        }
    }
}

#[cfg(test)]
mod tests;
