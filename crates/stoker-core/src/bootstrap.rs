//! Pod + namespace + policy -> [`Outcome`]: what bootstrap changes in a pod, and why.
//!
//! # Flow
//! [`Policy::compile`] checks a PodBootstrap once, when it changes. [`decide`] takes one pod at its
//! creation: it finds out which manipulations the pod and its namespace opted out of, and builds
//! the smallest patch. [`judge`] sorts pods that run, by their mark. [`cause`] and [`outlook`] say
//! which of them housekeeping restarts.
//!
//! # Promises
//! - Deciding twice changes nothing more, also when another webhook added containers in between.
//! - An image that is not a valid reference is left alone, with a warning.
//! - A variable or a mount of the pod is never replaced.
//! - A pod is marked only when everything that the policy asks for was done.

mod choice;
mod housekeeping;
mod image;
mod pod;
mod policy;
mod replica;
mod status;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use stoker_api::names::Annotation;

pub use choice::{Choice, Choices, DecidedBy, Manipulation};
pub use housekeeping::{cause, outlook};
pub use pod::Pod;
pub use policy::{Policy, Problem};
pub use replica::{Copied, Origin, REPLICA, Scope, Seen, Source, Step, step};
pub use status::{Copies, Facts, status};

pub use crate::repair::selects;

use crate::admission::{Entry, Patch};
use pod::Container;
use policy::CaMount;

/// The annotation of the kubelet's copies of static pods.
const MIRROR: &str = "kubernetes.io/config.mirror";
/// The volume with the certificates.
const CA_VOLUME: &str = "stoker-ca-bundle";
/// The ConfigMap with the copies of the certificates, in every namespace.
pub const CA_CONFIG_MAP: &str = "stoker-ca-bundle";
/// The most characters of a text in a warning.
const SHOWN: usize = 40;
/// The file with the certificates of the policy.
pub const CA_FILE: &str = "ca.crt";
/// The file with the certificates of the policy and the public roots.
pub const BUNDLE_FILE: &str = "bundle.crt";

/// What is known about the pod's namespace.
#[derive(Debug, Clone, Copy)]
pub struct Namespace<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its annotations.
    pub annotations: &'a BTreeMap<String, String>,
    /// The hash of the certificates that it holds a copy of; none where it holds none.
    pub certificates: Option<&'a str>,
}

/// What is written of the pod: all of it, or its ephemeral containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// The pod is being created.
    Whole,
    /// Containers are being added to a pod that runs. These are there already.
    Ephemeral {
        /// The names of the ephemeral containers before the change.
        known: &'a [&'a str],
    },
}

/// What is done with a pod.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// What changes.
    pub patch: Patch,
    /// What the user is to know.
    pub warnings: Vec<String>,
    /// Whether the pod is left alone, and why.
    pub pass: Option<Pass>,
}

/// Why a pod is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// It is the kubelet's copy of a static pod.
    Mirror,
    /// It, its namespace or the policy excludes it from every manipulation.
    OptedOut,
}

/// How a pod that runs relates to the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It carries the mark of the policy.
    Current,
    /// It carries no mark.
    Missed,
    /// It carries the mark of an older policy.
    Stale,
    /// It is left alone.
    OptedOut,
}

impl Standing {
    /// Returns the word for people, logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Missed => "missed",
            Self::Stale => "stale",
            Self::OptedOut => "opted-out",
        }
    }
}

impl Pass {
    /// Returns the word for logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mirror => "mirror",
            Self::OptedOut => "opted-out",
        }
    }
}

/// Says how a pod relates to the policy, from its metadata alone.
///
/// `mark` is [`Policy::mark`] with the hash of the present certificates.
pub fn judge(
    annotations: &BTreeMap<String, String>,
    labels: &BTreeMap<String, String>,
    namespace: Namespace<'_>,
    policy: &Policy,
    mark: &str,
) -> Standing {
    let choices = Choices::find(annotations, labels, namespace, policy);
    if annotations.contains_key(MIRROR) || choices.has_opted_out() {
        return Standing::OptedOut;
    }
    match annotations.get(Annotation::Bootstrapped.as_str()) {
        // Pods that get no certificates, such as those for Windows, carry the mark without them.
        Some(found) if found == mark || *found == policy.mark(None) => Standing::Current,
        Some(found) if !found.is_empty() => Standing::Stale,
        _ => Standing::Missed,
    }
}

/// Decides what is done with a pod.
pub fn decide(pod: &Pod<'_>, part: Part<'_>, namespace: Namespace<'_>, policy: &Policy) -> Outcome {
    let annotations = pod.annotations();
    let choices = Choices::find(&annotations, &pod.labels(), namespace, policy);
    let mut outcome = Outcome { warnings: choices.warnings.clone(), ..Outcome::default() };
    if annotations.contains_key(MIRROR) {
        outcome.pass = Some(Pass::Mirror);
    } else if choices.has_opted_out() {
        outcome.pass = Some(Pass::OptedOut);
    } else {
        let mut work = Work { pod, policy, choices: &choices, namespace, outcome };
        match part {
            Part::Whole => work.whole(&annotations),
            Part::Ephemeral { known } => work.ephemeral(known),
        }
        outcome = work.outcome;
    }
    outcome
}

/// One decision in the making.
struct Work<'a> {
    pod: &'a Pod<'a>,
    policy: &'a Policy,
    choices: &'a Choices,
    namespace: Namespace<'a>,
    outcome: Outcome,
}

/// The certificates of one pod: the volume that holds them, and where it is mounted.
struct Certificates<'a> {
    volume: String,
    mount: &'a CaMount,
    is_new: bool,
}

impl<'a> Work<'a> {
    fn whole(&mut self, annotations: &BTreeMap<String, String>) {
        let certificates = self.certificates();
        let mut originals = originals(annotations);
        let mut pulls_mapped = false;
        for (list, containers) in self.pod.lists() {
            for (index, container) in containers.iter().enumerate() {
                let path = format!("/spec/{list}/{index}");
                let image = self.rewrite(container, &path, &mut originals);
                pulls_mapped |= self.policy.is_mapped(&image);
                self.equip(container, &path, certificates.as_ref());
            }
        }
        if let Some(new) = certificates.as_ref().filter(|certificates| certificates.is_new) {
            let volumes = self.pod.spec.volumes.len();
            self.outcome.patch.append("/spec/volumes", volumes, vec![new.definition()]);
        }
        self.add_pull_secret(pulls_mapped);
        let mut entries = Vec::new();
        let bootstrapped = Annotation::Bootstrapped.as_str();
        if let Some(mark) = self.mark() {
            entries.push(Entry::new(bootstrapped, mark));
        } else if annotations.contains_key(bootstrapped) {
            // The mark of another pod, copied with its manifest.
            entries.push(Entry::new(bootstrapped, ""));
        }
        if !originals.is_empty() {
            let text = Value::Object(originals).to_string();
            entries.push(Entry::new(Annotation::OriginalImages.as_str(), text));
        }
        if !entries.is_empty() {
            let existing = &self.pod.metadata.annotations;
            self.outcome.patch.merge("/metadata/annotations", existing, entries);
        }
    }

    /// Only containers that are new may change, and only in themselves.
    fn ephemeral(&mut self, known: &[&str]) {
        let certificates = self.certificates().filter(|certificates| !certificates.is_new);
        for (index, container) in self.pod.spec.ephemeral_containers.iter().enumerate() {
            if known.contains(&&*container.name) {
                continue;
            }
            let path = format!("/spec/ephemeralContainers/{index}");
            self.rewrite(container, &path, &mut serde_json::Map::new());
            self.equip(container, &path, certificates.as_ref());
        }
    }

    /// Rewrites the image of a container and returns the image that it has in the end.
    fn rewrite(
        &mut self,
        container: &Container<'_>,
        path: &str,
        originals: &mut serde_json::Map<String, Value>,
    ) -> String {
        let image = container.image.to_string();
        if !self.choices.is_enabled(Manipulation::Registry) || image.is_empty() {
            return image;
        }
        match self.policy.rewrite(&image) {
            Ok(Some(rewritten)) => {
                self.outcome.patch.add(format!("{path}/image"), json!(rewritten));
                originals.insert(container.name.to_string(), json!(image));
                rewritten
            }
            Ok(None) => image,
            Err(error) => {
                self.outcome.warnings.push(format!(
                    "the image {} of container {} is left alone: {error}",
                    shown(&image),
                    shown(&container.name)
                ));
                image
            }
        }
    }

    /// Adds the certificates and the variables to one container.
    fn equip(
        &mut self,
        container: &Container<'_>,
        path: &str,
        certificates: Option<&Certificates<'_>>,
    ) {
        let mut env = Vec::new();
        let has = |name: &str| container.env.iter().any(|variable| &*variable.name == name);
        if let Some(certificates) = certificates {
            let mount = certificates.mount;
            if container.mounts(&certificates.volume) || self.may_mount(container, mount) {
                let missing = mount.variables.iter().filter(|variable| !has(&variable.name));
                env.extend(missing.cloned());
                if !container.mounts(&certificates.volume) {
                    let new = json!({
                        "name": certificates.volume,
                        "mountPath": mount.path,
                        "readOnly": true,
                    });
                    let mounts = container.volume_mounts.len();
                    self.outcome.patch.append(&format!("{path}/volumeMounts"), mounts, vec![new]);
                }
            }
        }
        if self.choices.is_enabled(Manipulation::Env) {
            let taken = |name: &str| has(name) || env.iter().any(|added| added.name == name);
            let missing: Vec<_> =
                self.policy.env.iter().filter(|variable| !taken(&variable.name)).cloned().collect();
            env.extend(missing);
        }
        let new = env.iter().map(|it| json!({ "name": it.name, "value": it.value })).collect();
        self.outcome.patch.append(&format!("{path}/env"), container.env.len(), new);
    }

    /// A mount at, above or below ours could hide files or keep the container from starting.
    fn may_mount(&mut self, container: &Container<'_>, mount: &CaMount) -> bool {
        let Some(other) = container.mount_that_overlaps(&mount.path) else { return true };
        self.outcome.warnings.push(format!(
            "the certificates are not mounted into container {}: it mounts {}, which overlaps {}",
            shown(&container.name),
            shown(other),
            shown(&mount.path)
        ));
        false
    }

    fn add_pull_secret(&mut self, pulls_mapped: bool) {
        let Some(secret) = &self.policy.pull_secret else { return };
        let existing = &self.pod.spec.image_pull_secrets;
        let is_there = existing.iter().any(|it| *it.name == *secret.as_str());
        if pulls_mapped && !is_there && self.choices.is_enabled(Manipulation::PullSecret) {
            let new = vec![json!({ "name": secret })];
            self.outcome.patch.append("/spec/imagePullSecrets", existing.len(), new);
        }
    }

    /// Returns the mark of a pod that gets everything that the policy asks for.
    fn mark(&self) -> Option<String> {
        match self.namespace.certificates {
            _ if !self.wants_certificates() => Some(self.policy.mark(None)),
            Some(hash) => Some(self.policy.mark(Some(hash))),
            None => None,
        }
    }

    fn wants_certificates(&self) -> bool {
        self.policy.ca.is_some()
            && !self.pod.is_for_windows()
            && self.choices.is_enabled(Manipulation::CaBundle)
    }

    /// Returns the certificates, where the pod is to have them and its namespace holds them.
    fn certificates(&mut self) -> Option<Certificates<'a>> {
        let mount = self.policy.ca.as_ref()?;
        if !self.wants_certificates() {
            return None;
        }
        if let Some(volume) = self.pod.volume_of(CA_CONFIG_MAP) {
            return Some(Certificates { volume: volume.to_owned(), mount, is_new: false });
        }
        if self.namespace.certificates.is_none() {
            self.outcome.warnings.push(format!(
                "the certificates are not mounted: namespace {:?} has no copy of them yet",
                self.namespace.name
            ));
            return None;
        }
        Some(Certificates { volume: self.pod.free_volume(CA_VOLUME), mount, is_new: true })
    }
}

impl Certificates<'_> {
    fn definition(&self) -> Value {
        let item = |file: &str| json!({ "key": file, "path": file });
        json!({
            "name": self.volume,
            "projected": { "sources": [{ "configMap": {
                "name": CA_CONFIG_MAP,
                "optional": true,
                "items": [item(CA_FILE), item(BUNDLE_FILE)],
            } }] },
        })
    }
}

/// Quotes a text of a stranger for a warning, which has at most 256 characters.
fn shown(text: &str) -> String {
    let quoted = format!("{text:?}");
    if quoted.chars().count() <= SHOWN {
        return quoted;
    }
    quoted.chars().take(SHOWN).collect::<String>() + "…"
}

/// Returns the images that an earlier invocation kept.
fn originals(annotations: &BTreeMap<String, String>) -> serde_json::Map<String, Value> {
    let kept = annotations.get(Annotation::OriginalImages.as_str());
    kept.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
