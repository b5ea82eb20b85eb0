//! Hint + GatewaySync -> what is written.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use stoker_api::GatewaySync;
use stoker_api::condition::Requester;
use stoker_api::names::Annotation;
use stoker_api::word::RefName;

use super::{Event, Hint, is_same_repository};

/// How far a sender's clock may be ahead of ours. A release that is dated later is not out yet.
const AHEAD: SignedDuration = SignedDuration::from_hours(1);

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The controller is to ask the remote; the text is the ref that it follows.
    Recheck(String),
    /// A ref is requested.
    Request {
        /// The ref.
        git_ref: String,
        /// When it was requested: the time that the sender signed, or now.
        at: Timestamp,
    },
    /// Nothing, for this reason.
    Ignore(String),
}

/// Annotations to write, by their name.
pub type Annotations = BTreeMap<&'static str, String>;

impl Outcome {
    /// Returns the annotations that tell the controller; none where nothing is to be done.
    pub fn annotations(&self, by: Requester, spec_ref: &str, now: Timestamp) -> Annotations {
        match self {
            Self::Ignore(_) => Annotations::new(),
            Self::Recheck(_) => recheck(by, now),
            Self::Request { git_ref, at } => [
                (Annotation::RequestedRef.as_str(), git_ref.clone()),
                (Annotation::RequestedAt.as_str(), at.to_string()),
                (Annotation::RequestedBy.as_str(), by.to_string()),
                (Annotation::RequestedFor.as_str(), spec_ref.to_owned()),
            ]
            .into(),
        }
    }
}

/// Returns the annotations that make the controller ask the remote.
pub fn recheck(by: Requester, now: Timestamp) -> Annotations {
    [
        (Annotation::RecheckAt.as_str(), now.to_string()),
        (Annotation::RecheckBy.as_str(), by.to_string()),
    ]
    .into()
}

/// What the decision is about.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// The GatewaySync.
    pub sync: &'a GatewaySync,
    /// Annotations that were accepted for it and may not be on `sync` yet.
    pub accepted: &'a Annotations,
    /// Whether the very same delivery was seen before.
    pub is_repeated: bool,
    /// The time.
    pub now: Timestamp,
}

/// Decides what a delivery does to a GatewaySync.
pub fn decide(hint: &Hint, situation: Situation<'_>) -> Outcome {
    let git = &situation.sync.spec.git;
    if let Some(named) = hint.repository.as_deref().filter(|it| !is_same_repository(it, &git.repo))
    {
        return Outcome::Ignore(format!("{named:?} is not the repository of this GatewaySync"));
    }
    let followed = Followed::of(situation);
    match &hint.event {
        Event::Nothing(reason) => Outcome::Ignore((*reason).to_owned()),
        Event::Push { branches, tags } => match followed.pushed(branches, hint.source) {
            Outcome::Ignore(_) if !tags.is_empty() => followed.tagged(tags, situation),
            outcome => outcome,
        },
        Event::Request(wanted) => followed.requested(wanted, hint, situation),
    }
}

/// What a GatewaySync follows.
struct Followed<'a> {
    spec: &'a str,
    /// A request that is in force.
    requested: Option<&'a str>,
    requested_at: Option<Timestamp>,
    is_tag: bool,
}

impl<'a> Followed<'a> {
    fn of(situation: Situation<'a>) -> Self {
        let Situation { sync, accepted, .. } = situation;
        let spec = sync.spec.git.git_ref.as_str();
        let annotations = sync.metadata.annotations.as_ref();
        let get = |annotation: Annotation| {
            let key = annotation.as_str();
            let value = accepted.get(key).or_else(|| annotations?.get(key));
            value.map(String::as_str).filter(|text| !text.is_empty())
        };
        // A request for another `spec.git.ref` is void.
        let is_void = get(Annotation::RequestedFor).is_some_and(|it| it != spec);
        let resolved = sync.status.as_ref().and_then(|status| status.resolved_ref.as_deref());
        Self {
            spec,
            requested: get(Annotation::RequestedRef).filter(|_| !is_void),
            requested_at: get(Annotation::RequestedAt).and_then(|at| at.parse().ok()),
            is_tag: is_tag(spec, resolved),
        }
    }

    fn effective(&self) -> &'a str {
        self.requested.unwrap_or(self.spec)
    }

    fn pushed(&self, branches: &[String], source: Requester) -> Outcome {
        let effective = self.effective();
        // Flux does not say whether a name is a branch or a tag.
        if source == Requester::Flux && is_range(effective) {
            return Outcome::Recheck(effective.to_owned());
        }
        if branches.iter().any(|branch| is_branch(effective, branch)) {
            return Outcome::Recheck(short(effective).to_owned());
        }
        if branches.iter().any(|branch| is_branch(self.spec, branch)) {
            return Outcome::Ignore(format!("{effective:?} is requested instead"));
        }
        let branch = branches.first().map(String::as_str).unwrap_or_default();
        Outcome::Ignore(format!("this GatewaySync follows {:?}, not {branch:?}", short(effective)))
    }

    fn tagged(&self, tags: &[String], situation: Situation<'_>) -> Outcome {
        let effective = self.effective();
        if is_range(self.spec) || tags.iter().any(|tag| short(effective) == tag) {
            return Outcome::Recheck(short(effective).to_owned());
        }
        match tags {
            [tag, ..] if self.is_tag && RefName::parse(tag).is_ok() => {
                // An old push says nothing about what came after it.
                if situation.is_repeated {
                    return Outcome::Recheck(short(effective).to_owned());
                }
                Outcome::Request { git_ref: tag.clone(), at: situation.now }
            }
            _ => Outcome::Ignore(format!(
                "a tag was pushed, and this GatewaySync follows {:?}",
                short(effective)
            )),
        }
    }

    fn requested(&self, wanted: &str, hint: &Hint, situation: Situation<'_>) -> Outcome {
        let Ok(parsed) = RefName::parse(wanted) else {
            return Outcome::Ignore("what is asked for is not a ref".to_owned());
        };
        let wanted = short(parsed.as_str());
        let now = situation.now;
        if hint.at.is_some_and(|at| at.duration_since(now) > AHEAD) {
            return Outcome::Ignore("it is dated in the future".to_owned());
        }
        // A script may ask for the same thing again and mean it; only a time tells a replay apart.
        let is_script =
            matches!(hint.source, Requester::Generic | Requester::Argocd | Requester::Kargo);
        let is_replayed = situation.is_repeated && (hint.at.is_some() || !is_script);
        if is_replayed || short(self.effective()) == wanted {
            return Outcome::Recheck(short(self.effective()).to_owned());
        }
        let is_older = hint.at.zip(self.requested_at).is_some_and(|(at, before)| at < before);
        if self.requested.is_some() && is_older {
            return Outcome::Ignore("a newer request is in force".to_owned());
        }
        // By the sender's time: deliveries that overtake each other keep the order of their events.
        let at = hint.at.map_or(now, |at| at.min(now));
        Outcome::Request { git_ref: wanted.to_owned(), at }
    }
}

/// Says whether `spec.git.ref` is a tag: it says so, it was resolved to one, or, while another ref
/// is resolved, it looks like a version.
fn is_tag(spec: &str, resolved: Option<&str>) -> bool {
    let is_of_spec = resolved.is_some_and(|full| short(full) == short(spec));
    if spec.starts_with("refs/") || is_of_spec {
        return resolved.filter(|_| is_of_spec).unwrap_or(spec).starts_with("refs/tags/");
    }
    let parts = spec.strip_prefix('v').unwrap_or(spec).split('.');
    parts.clone().count() > 2 && parts.take(2).all(|it| it.parse::<u64>().is_ok())
}

fn is_range(text: &str) -> bool {
    RefName::parse(text).is_ok_and(|name| name.semver_range().is_some())
}

/// Returns the short name of a branch or a tag.
fn short(name: &str) -> &str {
    let branch = name.strip_prefix("refs/heads/");
    branch.or_else(|| name.strip_prefix("refs/tags/")).unwrap_or(name)
}

/// Says whether a ref, as a GatewaySync spells it, can mean this branch.
fn is_branch(followed: &str, branch: &str) -> bool {
    followed.strip_prefix("refs/heads/").unwrap_or(followed) == branch
}
