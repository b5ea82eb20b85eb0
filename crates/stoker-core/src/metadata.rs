//! What agents are given: the spec, the resolved commit and the profiles become metadata.
//!
//! # Promises
//! - A commit is announced only with the URL and the ref that it was resolved from. While a new URL
//!   or ref is not resolved, the last good announcement stays whole.
//! - Where the profiles are invalid or do not fit, the last published metadata stays, except for
//!   what stops agents: `paused`, `terminating` and `requestedAt`.
//!   Host keys are kept up to date all the same.

use std::collections::BTreeMap;

use stoker_api::GatewaySync;
use stoker_api::condition::{Requester, Trigger};
use stoker_api::contract::metadata::{AuthType, Metadata, PausedBy, Profile, Target};
use stoker_api::gatewaysync::{Agent, Auth, AuthMethod, Git};
use stoker_api::names::{self, Annotation};
use stoker_api::word::{Commit, HttpUrl, Interval, RefName, RepoUrl};

use crate::profile::Profiles;
use crate::request::Request;

/// Everything that metadata is made of.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// The GatewaySync.
    pub sync: &'a GatewaySync,
    /// The repository; none where it is not valid or not allowed.
    pub url: Option<&'a RepoUrl>,
    /// Which ref is wanted.
    pub request: &'a Request,
    /// The commit that the wanted ref stands for; none where it is not known.
    pub commit: Option<&'a Commit>,
    /// The embedded profiles; none where they are invalid.
    pub profiles: Option<&'a Profiles>,
    /// The valid SyncProfiles that pods name.
    pub sync_profiles: &'a BTreeMap<String, Profile>,
    /// Pods with a ref of their own.
    pub overrides: &'a BTreeMap<String, Target>,
    /// What pauses the agents.
    pub paused: Option<&'a PausedBy>,
    /// The host keys of the git server that agents verify against.
    pub known_hosts: Option<&'a str>,
    /// Who made the controller ask the remote, where that brought this commit.
    pub asked_by: Option<Requester>,
    /// How many pods there are.
    pub pods: usize,
    /// The highest status object that exists.
    pub last_shard: Option<u8>,
    /// What is published now.
    pub previous: Option<&'a Metadata>,
}

/// Builds the metadata; none where nothing may be published yet.
pub fn build(sources: &Sources<'_>) -> Option<Metadata> {
    let base = match (sources.profiles, sources.previous) {
        (Some(profiles), previous) => whole(sources, profiles, previous)?,
        (None, Some(previous)) => {
            // Host keys are the server's, and no matter of profiles.
            let is_of_spec = Some(&previous.git_url) == sources.url;
            let pinned = sources.known_hosts.map(ToOwned::to_owned);
            let known_hosts = if is_of_spec { pinned } else { previous.known_hosts.clone() };
            Metadata { known_hosts, ..previous.clone() }
        }
        (None, None) => return None,
    };
    Some(Metadata {
        is_paused: sources.paused.is_some(),
        paused_by: sources.paused.cloned(),
        is_terminating: false,
        requested_at: sources.request.at,
        requested_by: sources.request.by,
        status_shards: shards(sources),
        ..base
    })
}

/// Returns what is published instead of metadata that does not fit: what was published before, with
/// what stops agents.
pub fn without_news(next: &Metadata, previous: &Metadata) -> Metadata {
    Metadata {
        is_paused: next.is_paused,
        paused_by: next.paused_by.clone(),
        requested_at: next.requested_at,
        requested_by: next.requested_by,
        ..previous.clone()
    }
}

/// The number of status objects never shrinks: an agent may still report to the last one.
fn shards(sources: &Sources<'_>) -> u8 {
    let before = sources.previous.map_or(1, |previous| previous.status_shards);
    // Someone may have deleted the metadata, and no status object.
    let existing = sources.last_shard.map_or(1, names::status_shards_up_to);
    names::status_shards(sources.pods).max(before).max(existing)
}

fn whole(
    sources: &Sources<'_>,
    profiles: &Profiles,
    previous: Option<&Metadata>,
) -> Option<Metadata> {
    let announced = announce(sources, previous)?;
    // Refs of single pods were resolved in the repository of the spec, and belong to no other.
    let is_of_spec = Some(&announced.git_url) == sources.url;
    let kept = previous.map(|previous| previous.overrides.clone()).unwrap_or_default();
    let overrides = if is_of_spec { sources.overrides.clone() } else { kept };
    let next = Metadata {
        gateway_port: gateway_port(sources.sync),
        gateway_tls: sources.sync.spec.gateway.as_ref().and_then(|gateway| gateway.tls),
        allow_mass_delete: allow_mass_delete(sources.sync),
        startup_deadline: Some(startup_deadline(sources.sync)),
        overrides,
        profiles: profiles.as_map().clone(),
        sync_profiles: sources.sync_profiles.clone(),
        ..announced
    };
    let trigger = trigger(sources, &next);
    Some(Metadata { trigger, ..next })
}

/// Decides repository, ref and commit, with everything that is needed to fetch it.
fn announce(sources: &Sources<'_>, previous: Option<&Metadata>) -> Option<Metadata> {
    let wanted = sources.request.wanted.as_ref().ok();
    match (sources.url, wanted, sources.commit, previous) {
        (Some(url), Some(wanted), Some(commit), _) => {
            Some(fresh(sources, url, wanted, Some(commit.clone())))
        }
        // The same repository: a new credential or timeout counts at once, the commit stays.
        (Some(url), _, None, Some(previous)) if previous.git_url == *url => {
            Some(fresh(sources, url, &previous.git_ref, previous.commit.clone()))
        }
        (_, _, _, Some(previous)) => Some(previous.clone()),
        (Some(url), Some(wanted), None, None) => Some(fresh(sources, url, wanted, None)),
        (_, _, _, None) => None,
    }
}

fn fresh(
    sources: &Sources<'_>,
    url: &RepoUrl,
    git_ref: &RefName,
    commit: Option<Commit>,
) -> Metadata {
    let git = &sources.sync.spec.git;
    let method = git.auth.as_ref().and_then(Auth::method);
    let (auth_type, git_username) = match method {
        None => (AuthType::None, None),
        Some(AuthMethod::Token { username, .. }) => (AuthType::Token, Some(username.to_owned())),
        Some(AuthMethod::SshKey { .. }) => (AuthType::SshKey, None),
        Some(AuthMethod::GithubApp { .. }) => (AuthType::GithubApp, None),
    };
    Metadata {
        git_url: url.clone(),
        git_ref: git_ref.clone(),
        commit,
        auth_type,
        git_username,
        git_proxy: git.proxy.as_deref().and_then(|proxy| HttpUrl::parse(proxy).ok()),
        git_timeout: git_timeout(git),
        allow_insecure_http: git.allow_insecure_http.unwrap_or(false),
        known_hosts: sources.known_hosts.map(ToOwned::to_owned),
        is_paused: false,
        paused_by: None,
        is_terminating: false,
        gateway_port: None,
        gateway_tls: None,
        requested_at: None,
        requested_by: None,
        trigger: None,
        allow_mass_delete: None,
        startup_deadline: None,
        status_shards: 1,
        overrides: BTreeMap::new(),
        profiles: BTreeMap::new(),
        sync_profiles: BTreeMap::new(),
    }
}

/// Returns how long one git operation may take.
pub fn git_timeout(git: &Git) -> Interval {
    let timeout = git.timeout.as_deref().and_then(|text| Interval::parse(text).ok());
    timeout.filter(|timeout| !timeout.as_duration().is_zero()).unwrap_or(Git::DEFAULT_TIMEOUT)
}

fn gateway_port(sync: &GatewaySync) -> Option<u16> {
    let port = sync.spec.gateway.as_ref().and_then(|gateway| gateway.port);
    port.and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0)
}

fn startup_deadline(sync: &GatewaySync) -> Interval {
    let text = sync.spec.agent.as_ref().and_then(|agent| agent.startup_deadline.as_deref());
    let deadline = text.and_then(|text| Interval::parse(text).ok());
    deadline.unwrap_or(Agent::DEFAULT_STARTUP_DEADLINE)
}

/// Returns the commit whose mass deletion a person confirmed.
pub fn allow_mass_delete(sync: &GatewaySync) -> Option<Commit> {
    let annotations = sync.metadata.annotations.as_ref()?;
    Commit::parse(annotations.get(Annotation::AllowMassDelete.as_str())?.trim()).ok()
}

/// Says what made the controller announce this, where it differs from what was announced before.
fn trigger(sources: &Sources<'_>, next: &Metadata) -> Option<Trigger> {
    let Some(previous) = sources.previous else { return Some(Trigger::SpecChange) };
    let requested_now = sources.request.at.is_some() && sources.request.at != previous.requested_at;
    if next.git_url != previous.git_url {
        return Some(Trigger::SpecChange);
    }
    if next.git_ref != previous.git_ref {
        let by = sources.request.by.map_or(Trigger::Manual, Requester::trigger);
        return Some(if requested_now { by } else { Trigger::SpecChange });
    }
    // The first commit is part of what made the metadata appear at all.
    if next.commit != previous.commit && previous.commit.is_some() {
        return Some(sources.asked_by.map_or(Trigger::Polling, Requester::trigger));
    }
    let same_profiles =
        next.profiles == previous.profiles && next.sync_profiles == previous.sync_profiles;
    if same_profiles { previous.trigger } else { Some(Trigger::ProfileChange) }
}

#[cfg(test)]
mod tests;
