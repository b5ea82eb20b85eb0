//! Pod + candidates -> [`Decision`]: whether a pod gets an agent, and the patch that adds it.
//!
//! # Flow
//! [`triage`] sorts out pods that are none of our business. [`decide`] chooses the GatewaySync,
//! checks what the pod's annotations ask for, finds the gateway's data volume, and builds the
//! smallest patch that adds the agent.
//!
//! # Promises
//! - A pod that already has an agent is left alone: deciding twice changes nothing more.
//! - Nothing that a pod says chooses a repository of an image, a command, a Secret or a URL.
//!   Values of annotations reach the pod only as parsed words, with `$(` escaped.
//! - A wrong configuration is denied only where the policy is strict. Where absence can't be
//!   proved, because the API server did not answer, nothing is denied.
//! - The agent never keeps a pod from being valid: volume names, ports and mounts that are taken
//!   are replaced.
//!
//! # When it fails
//! The pod is admitted without an agent, and a warning says why and what to set.

mod asked;
mod data;
mod expansion;
mod hash;
mod image;
mod patch;
mod placement;
mod pod;
mod resource;
mod review;
mod sidecar;
mod validation;
mod volume;
mod warning;

use stoker_api::GatewaySync;
use stoker_api::names::{AGENT_CONTAINER, Annotation, Label, TRUE};
use stoker_api::word::ProfileName;

pub use image::{Image, InvalidImage};
pub(crate) use patch::Entry;
pub use patch::{Operation, Patch};
pub use placement::{Expected, Placement};
pub use pod::{Metadata as PodMetadata, Peek, Pod, Spec as PodSpec, Text};
pub(crate) use pod::{Named, nullable};
pub use review::{Kind, Request, Review};
pub use validation::{Validity, validate_profile, validate_sync};

use asked::Asked;
use data::Data;
use warning::Findings;

/// The annotation of the kubelet's copies of static pods.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// What happens to pods whose configuration is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// They are admitted, with a warning.
    #[default]
    Lenient,
    /// They are denied.
    Strict,
}

/// What counts for every pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The image of agents for which nothing else says one.
    pub default_image: Image,
    /// Repositories that the annotation `stoker.io/agent-image` may name. Where it is empty: the
    /// repositories of the operator and of the GatewaySync.
    pub allowed_repositories: Vec<String>,
    /// Secrets that the agent's image is pulled with.
    pub pull_secrets: Vec<String>,
}

/// What is known about the pod's namespace.
#[derive(Debug, Clone, Default)]
pub struct World<'a> {
    /// Its GatewaySyncs.
    pub syncs: Vec<&'a GatewaySync>,
    /// Whether the SyncProfile that the pod names exists.
    pub has_sync_profile: bool,
    /// Whether absence is certain: the API server was asked, and answered.
    pub is_complete: bool,
}

/// Why a pod is none of our business.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// It does not ask for an agent.
    NotAsked,
    /// It has one.
    AlreadyInjected,
    /// It is the kubelet's copy of a static pod.
    Mirror,
    /// It is not a pod that is being created.
    NotACreation,
    /// It names a GatewaySync that another operator serves.
    NotServed,
}

/// What to do with a pod.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Admit it as it is.
    Pass(Pass),
    /// Admit it without an agent, with these warnings.
    Admit(Vec<String>),
    /// Deny it.
    Deny(Denial),
    /// Add the agent.
    Inject(Box<Injection>),
}

/// Why a pod is denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// What is wrong, and what to set.
    pub message: String,
    /// The GatewaySync that it was for, where one is known.
    pub sync: Option<String>,
}

/// The agent for one pod.
#[derive(Debug, Clone, PartialEq)]
pub struct Injection {
    /// The GatewaySync that serves it.
    pub sync: String,
    /// Whether the GatewaySync was derived.
    pub is_derived: bool,
    /// What changes.
    pub patch: Patch,
    /// What the user is to know.
    pub warnings: Vec<String>,
}

/// The GatewaySync of a pod.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chosen<'a> {
    name: &'a str,
    sync: Option<&'a GatewaySync>,
    is_derived: bool,
}

impl Pass {
    /// Returns the word for logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotAsked => "not-asked",
            Self::AlreadyInjected => "already-injected",
            Self::Mirror => "mirror",
            Self::NotACreation => "not-a-creation",
            Self::NotServed => "not-served",
        }
    }
}

/// Says whether a pod, of which only the annotations were read, asks for an agent.
pub fn asks(peek: &Peek<'_>) -> bool {
    peek.annotation(Annotation::Inject.as_str()) == Some(TRUE)
}

/// Sorts out pods that stay as they are.
pub fn triage(pod: &Pod<'_>) -> Option<Pass> {
    if pod.annotation(Annotation::Inject.as_str()) != Some(TRUE) {
        return Some(Pass::NotAsked);
    }
    if pod.annotation(MIRROR).is_some() {
        return Some(Pass::Mirror);
    }
    let containers = pod.spec.init_containers.iter().chain(&pod.spec.containers);
    let mut names = containers.map(|container| &*container.name);
    names.any(|name| name == AGENT_CONTAINER).then_some(Pass::AlreadyInjected)
}

/// Decides what happens to a pod.
pub fn decide(pod: &Pod<'_>, world: &World<'_>, settings: &Settings, policy: Policy) -> Decision {
    if let Some(pass) = triage(pod) {
        return Decision::Pass(pass);
    }
    let mut findings = Findings::default();
    let injection = compose(pod, world, settings, &mut findings);
    let sync = injection.as_ref().map(|injection| injection.sync.clone());
    if policy == Policy::Strict && findings.has_faults() {
        return Decision::Deny(Denial { message: findings.denial(), sync });
    }
    let warnings = findings.warnings();
    match injection {
        Some(injection) => Decision::Inject(Box::new(Injection { warnings, ..injection })),
        None => Decision::Admit(warnings),
    }
}

/// Builds the agent for a pod, as far as that is possible.
fn compose(
    pod: &Pod<'_>,
    world: &World<'_>,
    settings: &Settings,
    findings: &mut Findings,
) -> Option<Injection> {
    if pod.is_for_windows() {
        findings.note("the agent is not injected: the pod is for Windows nodes".to_owned());
        return None;
    }
    if pod.spec.containers.is_empty() {
        findings.note("the agent is not injected: the pod has no containers".to_owned());
        return None;
    }
    let asked = Asked::read(pod, findings);
    let chosen = choose(&asked, world, findings)?;
    check_profile(&asked, chosen, world, findings);
    let image = image::resolve(asked.image, chosen.sync, settings, findings);
    let data = Data::find(pod, asked.data_volume, findings)?;
    let agent = sidecar::Agent { pod, asked: &asked, chosen, image, data: &data };
    warn_about_user(&agent, findings);
    let patch = patch::build(&agent, settings, findings);
    Some(Injection {
        sync: chosen.name.to_owned(),
        is_derived: chosen.is_derived,
        patch,
        warnings: Vec::new(),
    })
}

/// Returns what the hash of an injected pod is, if it were injected now.
///
/// A pod whose annotation `stoker.io/injected-hash` differs has to be restarted before a change of
/// its GatewaySync takes effect. `None` where the pod would not get an agent.
pub fn expected_hash(pod: &Pod<'_>, sync: &GatewaySync, settings: &Settings) -> Option<String> {
    let asked = Asked::read(pod, &mut Findings::default());
    Some(Placement::of(pod)?.expected(asked.image, sync, settings)?.hash)
}

fn choose<'a>(asked: &Asked<'a>, world: &World<'a>, findings: &mut Findings) -> Option<Chosen<'a>> {
    let name_of = |sync: &&'a GatewaySync| sync.metadata.name.as_deref();
    let names = || {
        let mut names: Vec<&str> = world.syncs.iter().filter_map(name_of).collect();
        names.sort_unstable();
        names
    };
    if let Some(name) = asked.sync {
        let sync = world.syncs.iter().copied().find(|sync| name_of(sync) == Some(name));
        if sync.is_none() && world.is_complete {
            findings.fault(warning::unknown_sync(name, &names()));
        } else if sync.is_none() {
            findings.note(format!("failed to ask for GatewaySync {name:?}, injected without it"));
        }
        return Some(Chosen { name, sync, is_derived: false });
    }
    if asked.has_invalid_sync {
        return None;
    }
    // The one of `helm test` is for the pod that names it.
    let is_for_test = |sync: &GatewaySync| {
        let labels = sync.metadata.labels.as_ref();
        labels.is_some_and(|labels| labels.contains_key(Label::Check.as_str()))
    };
    let candidates: Vec<_> =
        world.syncs.iter().copied().filter(|sync| !is_for_test(sync)).collect();
    match (candidates.as_slice(), world.is_complete) {
        ([only], true) => {
            let name = only.metadata.name.as_deref()?;
            return Some(Chosen { name, sync: Some(only), is_derived: true });
        }
        (_, true) => findings.fault(warning::which_sync(&names())),
        (_, false) => findings.note(warning::unanswered()),
    }
    None
}

fn check_profile(
    asked: &Asked<'_>,
    chosen: Chosen<'_>,
    world: &World<'_>,
    findings: &mut Findings,
) {
    if let Some(name) = asked.sync_profile {
        if !world.has_sync_profile && world.is_complete {
            findings.fault(format!(
                "SyncProfile {name:?} does not exist: create it, or set {}",
                Annotation::SyncProfile
            ));
        }
        return;
    }
    if asked.profile.is_none() && asked.service_path.is_some() {
        findings.note(format!(
            "{} is not supported by this version: set {} as well",
            Annotation::ServicePath,
            Annotation::Profile
        ));
        return;
    }
    let Some(sync) = chosen.sync else { return };
    let profiles = sync.spec.sync.as_ref().map(|sync| &sync.profiles);
    let wanted = asked.profile.unwrap_or(ProfileName::DEFAULT);
    if !profiles.is_some_and(|profiles| profiles.contains_key(wanted)) {
        let known = profiles.into_iter().flat_map(|profiles| profiles.keys().map(String::as_str));
        findings.fault(warning::unknown_profile(chosen.name, wanted, &known.collect::<Vec<_>>()));
    }
}

fn warn_about_user(agent: &sidecar::Agent<'_>, findings: &mut Findings) {
    if agent.user().is_none() && agent.pod.fs_group().is_none() {
        findings.note(
            "neither the pod nor the gateway's container sets runAsUser: the agent may lack the \
             right to write to the data volume, set runAsUser or fsGroup"
                .to_owned(),
        );
    }
}

#[cfg(test)]
mod tests;
