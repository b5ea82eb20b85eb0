//! Who decides whether a manipulation is done: the pod, then its namespace, then the policy.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use stoker_api::names::Annotation;

use super::{Namespace, Policy, shown};

const ENABLED: &str = "enabled";
const DISABLED: &str = "disabled";

/// One thing that bootstrap does to a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Manipulation {
    /// The registries of images are rewritten.
    Registry,
    /// The pull secret is added.
    PullSecret,
    /// The certificates are mounted.
    CaBundle,
    /// Variables are set.
    Env,
}

/// Whether one manipulation is done, and what decides that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// Whether it is done.
    pub is_enabled: bool,
    /// What decides.
    pub decided_by: DecidedBy,
}

/// What decides about a manipulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecidedBy {
    /// An annotation of the pod.
    Pod(Annotation),
    /// An annotation of the namespace.
    Namespace(Annotation),
    /// The policy excludes the namespace.
    ExcludedNamespace,
    /// The policy excludes the labels of the pod.
    ExcludedPod,
    /// The policy.
    Policy,
}

/// What is chosen for one pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choices {
    choices: [Choice; Manipulation::ALL.len()],
    /// Annotations whose value is not known.
    pub warnings: Vec<String>,
}

impl Manipulation {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Registry, Self::PullSecret, Self::CaBundle, Self::Env];

    /// Returns the annotation for this manipulation alone.
    pub const fn annotation(self) -> Annotation {
        match self {
            Self::Registry => Annotation::BootstrapRegistry,
            Self::PullSecret => Annotation::BootstrapPullSecret,
            Self::CaBundle => Annotation::BootstrapCaBundle,
            Self::Env => Annotation::BootstrapEnv,
        }
    }
}

impl Display for Manipulation {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Registry => "registry",
            Self::PullSecret => "pull secret",
            Self::CaBundle => "certificates",
            Self::Env => "variables",
        })
    }
}

impl Display for DecidedBy {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pod(annotation) => write!(formatter, "annotation {annotation} of the pod"),
            Self::Namespace(annotation) => {
                write!(formatter, "annotation {annotation} of the namespace")
            }
            Self::ExcludedNamespace => formatter.write_str("exclude.namespaces of the policy"),
            Self::ExcludedPod => formatter.write_str("exclude.podSelector of the policy"),
            Self::Policy => formatter.write_str("the policy"),
        }
    }
}

impl Choices {
    /// Finds what is chosen. The first finding wins; on one level the annotation for one
    /// manipulation goes before the general one.
    pub fn find(
        annotations: &BTreeMap<String, String>,
        labels: &BTreeMap<String, String>,
        namespace: Namespace<'_>,
        policy: &Policy,
    ) -> Self {
        let fallback = if policy.excludes_namespace(namespace.name) {
            Choice { is_enabled: false, decided_by: DecidedBy::ExcludedNamespace }
        } else if policy.excludes_pod(labels) {
            Choice { is_enabled: false, decided_by: DecidedBy::ExcludedPod }
        } else {
            Choice { is_enabled: true, decided_by: DecidedBy::Policy }
        };
        let choose = |manipulation: Manipulation| {
            let names = [manipulation.annotation(), Annotation::Bootstrap];
            let pod = names.map(|name| (annotations, name, DecidedBy::Pod(name)));
            let space = names.map(|name| (namespace.annotations, name, DecidedBy::Namespace(name)));
            let found = pod.into_iter().chain(space).find_map(|(map, name, decided_by)| {
                let is_enabled = read(map, name).ok().flatten()?;
                Some(Choice { is_enabled, decided_by })
            });
            found.unwrap_or(fallback)
        };
        let choices = Manipulation::ALL.map(choose);
        Self { choices, warnings: warnings(annotations, namespace) }
    }

    /// Returns what is chosen for a manipulation.
    pub fn of(&self, manipulation: Manipulation) -> Choice {
        self.choices[manipulation as usize]
    }

    /// Says whether a manipulation is done.
    pub fn is_enabled(&self, manipulation: Manipulation) -> bool {
        self.of(manipulation).is_enabled
    }

    /// Says whether nothing is done.
    pub fn has_opted_out(&self) -> bool {
        self.choices.iter().all(|choice| !choice.is_enabled)
    }
}

/// Reads one annotation. A value that is not known counts as absent.
fn read(annotations: &BTreeMap<String, String>, name: Annotation) -> Result<Option<bool>, &str> {
    match annotations.get(name.as_str()).map(String::as_str) {
        None => Ok(None),
        Some(ENABLED) => Ok(Some(true)),
        Some(DISABLED) => Ok(Some(false)),
        Some(other) => Err(other),
    }
}

fn warnings(annotations: &BTreeMap<String, String>, namespace: Namespace<'_>) -> Vec<String> {
    let names = || {
        let specific = Manipulation::ALL.map(Manipulation::annotation);
        specific.into_iter().chain([Annotation::Bootstrap])
    };
    let warn = |owner: String, map: &BTreeMap<String, String>| -> Vec<String> {
        let unknown = names().filter_map(|name| read(map, name).err().map(|value| (name, value)));
        let text = |(name, value): (Annotation, &str)| {
            let value = shown(value);
            format!("{name} of {owner} is ignored: {value} is neither {ENABLED:?} nor {DISABLED:?}")
        };
        unknown.map(text).collect()
    };
    let mut found = warn("the pod".to_owned(), annotations);
    found.extend(warn(format!("namespace {:?}", namespace.name), namespace.annotations));
    found
}
