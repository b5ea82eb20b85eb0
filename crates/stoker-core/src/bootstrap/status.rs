//! The status of a PodBootstrap.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use stoker_api::PodBootstrap;
use stoker_api::condition::{ConditionType, Reason};
use stoker_api::podbootstrap::{HousekeepingMode, POLICY_NAME, PodBootstrapStatus, PodCounts};

use super::{Copied, Policy, Problem, Standing};
use crate::status::Judgement;

/// Names in a message. The rest is counted.
const NAMES: usize = 5;

/// What is known about a policy and what it is for.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    /// Whether the policy is valid.
    pub compiled: Result<&'a Policy, &'a [Problem]>,
    /// Whether an earlier version stays in force where this one is invalid.
    pub has_last_good: bool,
    /// The mark that pods get now.
    pub mark: Option<String>,
    /// How the copies are.
    pub copies: Copies,
    /// How many pods are in which standing; none before they were counted.
    pub pods: Option<BTreeMap<Standing, usize>>,
    /// The present time.
    pub now: Timestamp,
}

/// How the copies in all namespaces are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copies {
    /// Namespaces that have every copy that they are to have.
    pub complete: usize,
    /// Namespaces that wait for one.
    pub waiting: usize,
    /// What is wrong with the sources.
    pub faults: Vec<String>,
    /// Namespaces with another object of the name of a copy.
    pub conflicts: Vec<(String, Copied)>,
    /// Namespaces whose copies could not be written, and why.
    pub failures: Vec<(String, String)>,
}

/// Builds the status of a policy.
pub fn status(object: &PodBootstrap, facts: &Facts<'_>) -> PodBootstrapStatus {
    let observed_generation = object.metadata.generation;
    let publish = |judged: Vec<(ConditionType, Judgement)>| {
        let judged = judged.into_iter();
        judged.map(|(kind, judgement)| condition(object, kind, &judgement, facts.now)).collect()
    };
    if object.metadata.name.as_deref() != Some(POLICY_NAME) {
        let message = format!("only the PodBootstrap named {POLICY_NAME:?} is used: rename it");
        let ready = Judgement::no(Reason::NotUsed, message);
        let conditions = publish(vec![(ConditionType::Ready, ready)]);
        return PodBootstrapStatus { observed_generation, conditions, ..Default::default() };
    }
    let mut judged = vec![
        (ConditionType::Ready, ready(facts)),
        (ConditionType::SecretsReplicated, replicated(&facts.copies)),
    ];
    let is_counted = facts.compiled.is_ok_and(|policy| policy.mode != HousekeepingMode::Off);
    let pods = facts.pods.as_ref().filter(|_| is_counted).map(counts);
    judged.extend(pods.map(|pods| (ConditionType::PodsCurrent, current(pods))));
    PodBootstrapStatus {
        observed_generation,
        mark: facts.mark.clone(),
        namespaces: i32::try_from(facts.copies.complete).ok(),
        pods,
        conditions: publish(judged),
    }
}

fn ready(facts: &Facts<'_>) -> Judgement {
    match facts.compiled {
        Ok(_) => Judgement::yes(Reason::PolicyActive, "the policy is in force"),
        Err(problems) => {
            let found: Vec<String> = problems.iter().map(ToString::to_string).collect();
            let rest = if facts.has_last_good {
                "the last valid policy stays in force"
            } else {
                "no policy is in force"
            };
            Judgement::no(Reason::PolicyInvalid, format!("{}; {rest}", found.join("; ")))
        }
    }
}

fn replicated(copies: &Copies) -> Judgement {
    let Copies { complete, waiting, faults, conflicts, failures } = copies;
    if !faults.is_empty() {
        return Judgement::no(Reason::ReplicaSourceMissing, faults.join("; "));
    }
    if !conflicts.is_empty() {
        let names = conflicts
            .iter()
            .map(|(namespace, copied)| format!("{namespace} ({})", copied.as_str()));
        let message = format!(
            "another object has the name of a copy in {}: it is kept, rename or remove it",
            list(names)
        );
        return Judgement::no(Reason::ReplicaConflict, message);
    }
    if let Some((namespace, error)) = failures.first() {
        let more = match failures.len() {
            1 => String::new(),
            count => format!(", and in {} more namespaces", count - 1),
        };
        let message = format!("failed to write copies in namespace {namespace}: {error}{more}");
        return Judgement::no(Reason::ReplicationFailed, message);
    }
    if *waiting > 0 {
        let all = complete + waiting;
        let message = format!("{complete} of {all} namespaces have their copies");
        return Judgement::no(Reason::Progressing, message);
    }
    Judgement::yes(Reason::Replicated, format!("{complete} namespaces have their copies"))
}

fn current(pods: PodCounts) -> Judgement {
    let PodCounts { current, missed, stale, .. } = pods;
    match (missed, stale) {
        (0, 0) => Judgement::yes(Reason::PodsCurrent, format!("{current} pods carry the mark")),
        (0, stale) => Judgement::no(
            Reason::PodsStale,
            format!("{stale} pods were created with an older policy: restart them"),
        ),
        (missed, stale) => Judgement::no(
            Reason::PodsMissed,
            format!(
                "{missed} pods were created without the policy, {stale} with an older one: stoker bootstrap status lists them"
            ),
        ),
    }
}

fn counts(pods: &BTreeMap<Standing, usize>) -> PodCounts {
    let count = |standing| {
        let found = pods.get(&standing).copied().unwrap_or_default();
        i32::try_from(found).unwrap_or(i32::MAX)
    };
    PodCounts {
        current: count(Standing::Current),
        missed: count(Standing::Missed),
        stale: count(Standing::Stale),
        opted_out: count(Standing::OptedOut),
    }
}

fn list(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(NAMES);
    let text = names.take(NAMES).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}

fn condition(
    object: &PodBootstrap,
    kind: ConditionType,
    judgement: &Judgement,
    now: Timestamp,
) -> Condition {
    let before = object.status.iter().flat_map(|status| &status.conditions);
    judgement.condition(kind, object.metadata.generation, before, now)
}
