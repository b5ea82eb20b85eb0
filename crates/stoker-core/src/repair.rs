//! Which pods are restarted because they lack something that only a restart brings.
//!
//! # Flow
//! The controller names a pod and a [`Cause`], and reads the pod's workload and the namespace.
//! [`decide`] says whether the pod is evicted now, later, or not at all. The [`Record`] remembers
//! evictions across restarts of the operator.
//!
//! # Promises
//! - Only pods of a Deployment, ReplicaSet, StatefulSet or DaemonSet are evicted: something must
//!   create them again.
//! - Never during a rollout, and never where the new pod would not get what the old one lacks. A
//!   pod that is ready is never evicted while another pod of the workload is unavailable.
//! - Once per workload, pod template and cause: a pod that was created after the first eviction is
//!   not evicted again for the same cause.
//! - Evictions have a rate for the whole cluster, which survives a restart of the operator.
//! - Where restarts do not help, evictions pause: see [`hold`].

mod outlook;
mod record;
mod workload;

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use sha2::{Digest as _, Sha256};

pub use outlook::{Outlook, Scope, outlook, selects};
pub use record::{Entry, Record};
pub use workload::{Owner, OwnerKind, Workload, owner_of};

/// A pod is at least this old before it is evicted. Timestamps have whole seconds, so this also
/// tells a pod from its successor.
const YOUNGEST: Duration = Duration::from_secs(10);
const SHORTEST_HOLD: Duration = Duration::from_mins(1);
const LONGEST_HOLD: Duration = Duration::from_mins(30);

/// Why a pod needs a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// What kind of cause, as one word for logs and metrics.
    pub word: &'static str,
    /// What exactly. The same cause has the same detail before and after a restart that did not
    /// help.
    pub detail: String,
}

/// What is known about a pod that needs a restart.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The pod, read just now.
    pub pod: &'a Pod,
    /// Why it needs a restart.
    pub cause: &'a Cause,
    /// Its workload; none where it has no owner that would create it again.
    pub workload: Option<&'a Workload>,
    /// What its successor would get.
    pub outlook: &'a Outlook,
    /// Whether the pod that was evicted last for this workload still exists.
    pub is_predecessor_ending: bool,
}

/// What is done with a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is evicted now.
    Evict,
    /// It is looked at again soon.
    Wait(Wait),
    /// A person has to act.
    Leave(Leave),
}

/// Why a pod is not evicted yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// It was created seconds ago.
    Young,
    /// Its workload rolls out.
    Rollout,
    /// Another pod of its workload is not ready.
    Unavailable,
    /// The pod that was evicted before it still exists.
    Predecessor,
    /// The webhook does not work.
    Webhook,
    /// The namespace lacks something that the new pod would get.
    Namespace,
    /// Another pod was evicted a moment ago.
    Rate,
}

/// Why a pod is not evicted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leave {
    /// Nothing would create it again.
    Unmanaged,
    /// It was created after an eviction for the same cause.
    Tried,
    /// Its successor would lack the same.
    Useless(String),
}

impl Cause {
    /// The pod asks for an agent and has none.
    pub const MISSING_AGENT: Self = Self { word: "missing-agent", detail: String::new() };

    /// The pod's agent has to be replaced, for the reason that the status gives. `injected_hash` is
    /// the pod's annotation: after a restart that helped it is another one.
    pub fn restart_needed(reason: &str, injected_hash: &str) -> Self {
        Self { word: "restart-needed", detail: format!("{reason} {injected_hash}") }
    }

    /// The pod was created without the policy of pod bootstrap.
    pub const BOOTSTRAP_MISSED: Self = Self { word: "bootstrap-missed", detail: String::new() };

    /// The pod was created with an older policy of pod bootstrap. `mark` is the mark of the present
    /// one.
    pub fn bootstrap_stale(mark: &str) -> Self {
        Self { word: "bootstrap-stale", detail: mark.to_owned() }
    }

    /// Returns eight hexadecimal digits that tell causes apart.
    fn digest(&self) -> String {
        let digest = Sha256::digest(format!("{}\0{}", self.word, self.detail));
        digest.iter().take(4).fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
    }
}

/// Returns how long nothing is evicted after a restart that did not help. `tried` is the number of
/// pods that were created after an eviction and lack the same.
pub fn hold(tried: usize) -> Duration {
    let doubled = u32::try_from(tried.saturating_sub(1)).ok().and_then(|it| 2_u32.checked_pow(it));
    doubled
        .and_then(|times| SHORTEST_HOLD.checked_mul(times))
        .unwrap_or(LONGEST_HOLD)
        .min(LONGEST_HOLD)
}

/// Decides about one pod. `interval` is the least time between two evictions.
pub fn decide(facts: &Facts<'_>, record: &Record, interval: Duration, now: Timestamp) -> Verdict {
    let Some(workload) = facts.workload else { return Verdict::Leave(Leave::Unmanaged) };
    let created = created(facts.pod);
    if let Some(entry) = record.find(workload, facts.pod, facts.cause)
        && created.is_none_or(|created| created > entry.created)
    {
        return Verdict::Leave(Leave::Tried);
    }
    if let Outlook::Useless(why) = facts.outlook {
        return Verdict::Leave(Leave::Useless(why.clone()));
    }
    match wait(facts, workload, created, now) {
        Some(wait) => Verdict::Wait(wait),
        None if record.is_within(interval, now) => Verdict::Wait(Wait::Rate),
        None => Verdict::Evict,
    }
}

fn wait(
    facts: &Facts<'_>,
    workload: &Workload,
    created: Option<Timestamp>,
    now: Timestamp,
) -> Option<Wait> {
    let is_young = created.is_none_or(|created| {
        now.duration_since(created) < YOUNGEST.try_into().unwrap_or_default()
    });
    if is_young {
        Some(Wait::Young)
    } else if workload.is_rolling_out_for(facts.pod) {
        Some(Wait::Rollout)
    } else if facts.is_predecessor_ending {
        Some(Wait::Predecessor)
    // The eviction of a pod that is not ready makes nothing less available. Without the right
    // registry no pod of a workload may ever be ready.
    } else if is_ready(facts.pod) && workload.ready < workload.desired {
        Some(Wait::Unavailable)
    } else if let Outlook::Wait(wait) = facts.outlook {
        Some(*wait)
    } else {
        None
    }
}

fn created(pod: &Pod) -> Option<Timestamp> {
    pod.metadata.creation_timestamp.as_ref().map(|time| time.0)
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|it| it.type_ == "Ready" && it.status == "True")
}

impl Display for Wait {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Young => "the pod was created seconds ago",
            Self::Rollout => "its workload rolls out",
            Self::Unavailable => "another pod of its workload is not ready",
            Self::Predecessor => "the pod that was evicted before it still exists",
            Self::Webhook => "the admission webhook does not answer, or is not trusted",
            Self::Namespace => "its namespace has no current copy of the certificates yet",
            Self::Rate => "another pod was evicted a moment ago",
        })
    }
}

impl Display for Leave {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unmanaged => formatter.write_str(
                "no Deployment, ReplicaSet, StatefulSet or DaemonSet would create it again: \
                 delete and create it yourself",
            ),
            Self::Tried => formatter.write_str(
                "it was created after an eviction for the same cause: look at the admission webhook",
            ),
            Self::Useless(why) => write!(formatter, "a restart would not help: {why}"),
        }
    }
}

impl Display for Verdict {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Evict => formatter.write_str("evict"),
            Self::Wait(wait) => Display::fmt(wait, formatter),
            Self::Leave(leave) => Display::fmt(leave, formatter),
        }
    }
}

#[cfg(test)]
mod tests;
