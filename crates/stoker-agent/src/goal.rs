//! What this gateway is to have: a pure function of the announcement and the pod.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use stoker_api::condition::{Reason, SyncStatus, Trigger};
use stoker_api::contract::metadata::{AuthType, Metadata, PausedBy, Profile};
use stoker_api::limit;
use stoker_api::names::{Annotation, Label};
use stoker_api::word::{Commit, GatewayName, HttpUrl, Interval, ProfileName, RefName, RepoUrl};
use stoker_core::applied;
use stoker_core::gateway::{Choice, name_of};

use crate::args::Environment;
use crate::pod::Pod;

const TRUE: &str = "true";
/// The sync period where nothing says otherwise.
pub(crate) const USUAL_PERIOD: Duration = Duration::from_secs(30);

/// What this gateway is to have. Two equal goals need one run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Goal {
    pub(crate) remote: Remote,
    pub(crate) git_ref: RefName,
    pub(crate) commit: Commit,
    pub(crate) profile_name: String,
    /// The profile as it was published.
    pub(crate) profile: Profile,
    /// The annotation with further exclude patterns, as it is written.
    pub(crate) exclude_patterns: Option<String>,
    /// The annotation with the gateway's name, as it is written.
    pub(crate) name_annotation: Option<String>,
    pub(crate) gateway: GatewayName,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) port: Option<u16>,
    pub(crate) tls: Option<bool>,
    /// The commit whose mass deletion is confirmed.
    pub(crate) confirmed: Option<Commit>,
    /// When a sync was last asked for: asking again is a run.
    pub(crate) requested_at: Option<Timestamp>,
}

/// The repository, and the way to it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Remote {
    pub(crate) url: RepoUrl,
    pub(crate) auth: AuthType,
    pub(crate) username: Option<String>,
    pub(crate) proxy: Option<HttpUrl>,
    pub(crate) timeout: Interval,
    pub(crate) allow_insecure_http: bool,
    pub(crate) known_hosts: Option<String>,
}

/// Why there is nothing to sync, although there is an announcement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hold {
    /// The GatewaySync is being deleted.
    Terminating,
    /// The environment does not fit the pod.
    PodMismatch { message: String },
    /// Syncing is paused.
    Paused { message: String },
    /// The pod asks for a profile that was not published.
    NoProfile { message: String },
    /// The announcement can't be read.
    MetadataInvalid { message: String },
    /// The ref was not resolved yet.
    NoCommit,
    /// The pod has a ref of its own, which was not published yet.
    RefNotPublished { message: String },
}

/// Returns what the gateway is to have.
pub(crate) fn goal(
    metadata: &Metadata,
    pod: &Pod,
    environment: &Environment,
) -> Result<Goal, Hold> {
    check_identity(pod, environment)?;
    if metadata.is_terminating {
        return Err(Hold::Terminating);
    }
    check_pause(metadata, pod)?;
    let choice = choice(pod);
    let profile = choice.find(metadata).ok_or_else(|| no_profile(metadata, choice))?;
    if profile.paused {
        let message = format!("the profile {:?} is paused", choice.name());
        return Err(Hold::Paused { message });
    }
    let (git_ref, commit) = target(metadata, pod, environment)?;
    let port = pod.annotation(Annotation::GatewayPort).and_then(|port| port.parse().ok());
    let tls = pod.annotation(Annotation::GatewayTls).and_then(|tls| tls.parse().ok());
    Ok(Goal {
        remote: Remote::of(metadata),
        git_ref,
        commit,
        profile_name: choice.name().to_owned(),
        profile: profile.clone(),
        exclude_patterns: pod.annotation(Annotation::ExcludePatterns).map(str::to_owned),
        name_annotation: pod.annotation(Annotation::GatewayName).map(str::to_owned),
        gateway: gateway_name(pod, environment),
        labels: pod.labels.clone(),
        port: port.or(metadata.gateway_port),
        tls: tls.or(metadata.gateway_tls),
        confirmed: metadata.allow_mass_delete.clone(),
        requested_at: metadata.requested_at,
    })
}

/// Returns the name of the gateway.
pub(crate) fn gateway_name(pod: &Pod, environment: &Environment) -> GatewayName {
    let label = pod.labels.get(Label::AppName.as_str()).map(String::as_str);
    name_of(pod.annotation(Annotation::GatewayName), label, &environment.pod_name)
}

/// Returns the longest pause between two attempts at what is owed.
pub(crate) fn sync_period(metadata: Option<&Metadata>, pod: &Pod) -> Duration {
    let annotation = pod.annotation(Annotation::SyncPeriod).and_then(|text| text.parse().ok());
    let profile = || metadata.and_then(|metadata| choice(pod).find(metadata));
    let seconds = annotation.or_else(|| profile().map(|profile| usize::from(profile.sync_period)));
    seconds.map_or(USUAL_PERIOD, |seconds| {
        Duration::from_secs(seconds.clamp(limit::SYNC_PERIOD_MIN, limit::SYNC_PERIOD_MAX) as u64)
    })
}

/// The environment is from the time of injection: a pod that says otherwise now was not injected
/// like this.
pub(crate) fn check_identity(pod: &Pod, environment: &Environment) -> Result<(), Hold> {
    let named = pod.annotation(Annotation::CrName).filter(|name| *name != environment.cr_name);
    if let Some(named) = named {
        let own = &environment.cr_name;
        return Err(Hold::PodMismatch {
            message: format!(
                "the pod names the GatewaySync {named:?}, the agent was injected for {own:?}; \
                 recreate the pod"
            ),
        });
    }
    let uid = pod.uid.as_ref().filter(|uid| **uid != environment.pod_uid);
    uid.map_or(Ok(()), |uid| {
        let own = &environment.pod_uid;
        let message = format!("the pod has the UID {uid:?}, the agent was given {own:?}");
        Err(Hold::PodMismatch { message })
    })
}

fn check_pause(metadata: &Metadata, pod: &Pod) -> Result<(), Hold> {
    if pod.annotation(Annotation::Paused) == Some(TRUE) {
        let message = format!("the pod has the annotation {}", Annotation::Paused);
        return Err(Hold::Paused { message });
    }
    if !metadata.is_paused {
        return Ok(());
    }
    let message = match &metadata.paused_by {
        Some(PausedBy::Emergency { reason }) if reason.is_empty() => "emergency stop".to_owned(),
        Some(PausedBy::Emergency { reason }) => format!("emergency stop: {reason}"),
        Some(PausedBy::Spec) | None => "the GatewaySync is paused".to_owned(),
    };
    Err(Hold::Paused { message })
}

/// Returns the profile that the pod chooses.
fn choice(pod: &Pod) -> Choice<'_> {
    match (pod.annotation(Annotation::SyncProfile), pod.annotation(Annotation::Profile)) {
        (Some(object), _) => Choice::Object(object),
        (None, Some(name)) => Choice::Embedded(name),
        (None, None) => Choice::Embedded(ProfileName::DEFAULT),
    }
}

fn no_profile(metadata: &Metadata, choice: Choice<'_>) -> Hold {
    let (kind, known) = match choice {
        Choice::Embedded(_) => {
            let names = metadata.profiles.keys().map(ToString::to_string).collect::<Vec<_>>();
            ("profile", names.join(", "))
        }
        Choice::Object(_) => {
            let names = metadata.sync_profiles.keys().cloned().collect::<Vec<_>>();
            ("SyncProfile", names.join(", "))
        }
    };
    let known = if known.is_empty() { "none is published".to_owned() } else { known };
    let message = format!("there is no {kind} {:?} (published: {known})", choice.name());
    Hold::NoProfile { message }
}

fn target(
    metadata: &Metadata,
    pod: &Pod,
    environment: &Environment,
) -> Result<(RefName, Commit), Hold> {
    let published = metadata.overrides.get(&environment.pod_name);
    if let Some(wanted) = pod.annotation(Annotation::RefOverride) {
        let published = published.filter(|target| target.git_ref.as_str() == wanted);
        let target = published.ok_or_else(|| Hold::RefNotPublished {
            message: format!("the controller has not resolved the pod's own ref {wanted:?} yet"),
        })?;
        return Ok((target.git_ref.clone(), target.commit.clone()));
    }
    let commit = metadata.commit.clone().ok_or(Hold::NoCommit)?;
    Ok((metadata.git_ref.clone(), commit))
}

impl Remote {
    fn of(metadata: &Metadata) -> Self {
        Self {
            url: metadata.git_url.clone(),
            auth: metadata.auth_type,
            username: metadata.git_username.clone(),
            proxy: metadata.git_proxy.clone(),
            timeout: metadata.git_timeout,
            allow_insecure_http: metadata.allow_insecure_http,
            known_hosts: metadata.known_hosts.clone(),
        }
    }
}

impl Goal {
    /// Returns the hash by which the controller knows what was applied.
    pub(crate) fn applied(&self) -> String {
        applied::hash(&applied::Applied {
            url: &self.remote.url,
            commit: &self.commit,
            profile: &self.profile,
            exclude_patterns: self.exclude_patterns.as_deref(),
            gateway_name: self.name_annotation.as_deref(),
        })
    }

    /// Returns what set a run for this goal off, given the goal before it.
    pub(crate) fn trigger(&self, before: Option<&Self>, announced: Option<Trigger>) -> Trigger {
        let Some(before) = before else { return Trigger::Startup };
        let is_new = self.commit != before.commit || self.remote.url != before.remote.url;
        if is_new || self.requested_at != before.requested_at {
            return announced.unwrap_or(Trigger::Polling);
        }
        let is_profile = self.profile != before.profile || self.profile_name != before.profile_name;
        if is_profile { Trigger::ProfileChange } else { Trigger::SpecChange }
    }
}

impl Hold {
    /// Returns the status, the reason and the sentence for the report.
    pub(crate) fn describe(&self) -> (SyncStatus, Reason, String) {
        match self {
            Self::Terminating => {
                (SyncStatus::Paused, Reason::Paused, "the GatewaySync is being deleted".to_owned())
            }
            Self::PodMismatch { message } => {
                (SyncStatus::Error, Reason::PodMismatch, message.clone())
            }
            Self::Paused { message } => (SyncStatus::Paused, Reason::Paused, message.clone()),
            Self::NoProfile { message } => {
                (SyncStatus::Error, Reason::ProfileNotFound, message.clone())
            }
            Self::MetadataInvalid { message } => {
                (SyncStatus::Error, Reason::MetadataInvalid, message.clone())
            }
            Self::NoCommit => {
                let message = "the controller has not resolved the ref yet".to_owned();
                (SyncStatus::Pending, Reason::RefResolutionFailed, message)
            }
            Self::RefNotPublished { message } => {
                (SyncStatus::Pending, Reason::RefNotPublished, message.clone())
            }
        }
    }

    /// Says whether a gateway that starts has nothing to wait for.
    pub(crate) fn is_final(&self) -> bool {
        match self {
            Self::Terminating
            | Self::PodMismatch { .. }
            | Self::Paused { .. }
            | Self::NoProfile { .. } => true,
            Self::MetadataInvalid { .. } | Self::NoCommit | Self::RefNotPublished { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests;
