//! Copies of the pull secret and of the certificates: which namespaces get them, and what is done
//! about the copy that a namespace has.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use super::{Choices, Manipulation, Namespace, Policy};

/// The value of the label `stoker.io/replica` on copies.
pub const REPLICA: &str = "bootstrap";

/// Which namespaces bootstrap is for, whatever the policy says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The operator's own namespace, which is left alone.
    pub own: String,
    /// Whether `kube-system` is among them.
    pub includes_kube_system: bool,
}

impl Scope {
    /// Says whether bootstrap is for this namespace.
    pub fn serves(&self, namespace: &str) -> bool {
        match namespace {
            "kube-public" | "kube-node-lease" => false,
            "kube-system" => self.includes_kube_system,
            other => other != self.own,
        }
    }
}

/// What is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Copied {
    /// The Secret that images are pulled with.
    PullSecret,
    /// The ConfigMap with the certificates.
    CaBundle,
}

impl Copied {
    /// Both.
    pub const ALL: [Self; 2] = [Self::PullSecret, Self::CaBundle];

    /// Returns the word for logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PullSecret => "pull-secret",
            Self::CaBundle => "ca-bundle",
        }
    }

    /// Says whether pods of this namespace can need a copy.
    pub fn is_wanted(self, namespace: Namespace<'_>, policy: &Policy) -> bool {
        let (manipulation, is_asked) = match self {
            Self::PullSecret => (Manipulation::PullSecret, policy.pull_secret.is_some()),
            Self::CaBundle => (Manipulation::CaBundle, policy.ca.is_some()),
        };
        let nothing = BTreeMap::new();
        is_asked && Choices::find(&nothing, &nothing, namespace, policy).is_enabled(manipulation)
    }
}

/// Where a copy comes from: the value of the annotation `stoker.io/replica-of`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The source, such as `stoker-system/plant-ca`.
    pub source: String,
    /// A hash of what was copied.
    pub hash: String,
}

impl Origin {
    /// Reads the annotation of a copy.
    pub fn parse(text: &str) -> Option<Self> {
        let (source, hash) = text.rsplit_once(' ')?;
        Some(Self { source: source.to_owned(), hash: hash.to_owned() })
    }
}

impl Display for Origin {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.source, self.hash)
    }
}

/// What is to be copied, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source<C> {
    /// Nothing was heard of it yet.
    Unknown,
    /// The policy does not name one, or the policy ended.
    Unwanted,
    /// It does not exist. Copies go.
    Missing(String),
    /// It is there, but can't be used: it is empty, or of the wrong type. Copies stay as they are.
    Unusable(String),
    /// It is there.
    Present(C),
}

impl<C> Source<C> {
    /// Returns what is copied.
    pub fn content(&self) -> Option<&C> {
        match self {
            Self::Present(content) => Some(content),
            _ => None,
        }
    }

    /// Returns why there is nothing to copy, where that is a fault.
    pub fn fault(&self) -> Option<&str> {
        match self {
            Self::Missing(why) | Self::Unusable(why) => Some(why),
            Self::Unknown | Self::Unwanted | Self::Present(_) => None,
        }
    }
}

/// A copy that a namespace has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its version.
    pub version: String,
    /// Where it comes from; none where the annotation can't be read.
    pub origin: Option<Origin>,
}

/// What is done about the copy of one namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing: it is as it should be, or nothing is known about the source.
    Rest,
    /// It is created, where nothing else has its name.
    Create,
    /// It is read, and written where its content differs.
    Verify,
    /// It is written.
    Write,
    /// It is removed as soon as no pod refers to it.
    Remove,
}

/// Decides about the copy of one namespace.
///
/// `verified` is the version of the copy that was last found, or left, as it should be.
pub fn step(
    seen: Option<&Seen>,
    source: &Source<&Origin>,
    is_wanted: bool,
    verified: Option<&str>,
) -> Step {
    let origin = match (source, is_wanted) {
        (Source::Unknown, _) | (Source::Unusable(_), true) => return Step::Rest,
        (Source::Unwanted | Source::Missing(_), _) | (_, false) => {
            return if seen.is_some() { Step::Remove } else { Step::Rest };
        }
        (Source::Present(origin), true) => *origin,
    };
    match seen {
        None => Step::Create,
        Some(seen) if seen.origin.as_ref() != Some(origin) => Step::Write,
        Some(seen) if verified == Some(&*seen.version) => Step::Rest,
        Some(_) => Step::Verify,
    }
}
