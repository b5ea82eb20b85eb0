//! Hint + GatewaySync -> what is written.

use jiff::Timestamp;
use stoker_api::GatewaySync;
use stoker_api::condition::Requester;
use stoker_api::names::Annotation;
use stoker_api::word::RefName;

use super::{Event, Hint, is_same_repository};

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The controller is to ask the remote; the text is the ref that it follows.
    Recheck(String),
    /// This ref is requested.
    Request(String),
    /// Nothing, for this reason.
    Ignore(String),
}

/// What the decision is about.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// The GatewaySync.
    pub sync: &'a GatewaySync,
    /// Whether the very same delivery was seen before.
    pub is_repeated: bool,
}

/// Decides what a delivery does to a GatewaySync.
pub fn decide(hint: &Hint, situation: Situation<'_>) -> Outcome {
    let git = &situation.sync.spec.git;
    if let Some(named) = hint.repository.as_deref().filter(|it| !is_same_repository(it, &git.repo))
    {
        return Outcome::Ignore(format!("{named:?} is not the repository of this GatewaySync"));
    }
    let followed = Followed::of(situation.sync);
    match &hint.event {
        Event::Nothing(reason) => Outcome::Ignore((*reason).to_owned()),
        Event::Push(branches) => followed.pushed(branches),
        Event::Tag(tags) => followed.tagged(tags),
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
    fn of(sync: &'a GatewaySync) -> Self {
        let spec = sync.spec.git.git_ref.as_str();
        let annotations = sync.metadata.annotations.as_ref();
        let get = |annotation: Annotation| {
            let value = annotations?.get(annotation.as_str()).map(String::as_str);
            value.filter(|text| !text.is_empty())
        };
        // A request for another `spec.git.ref` is void.
        let is_void = get(Annotation::RequestedFor).is_some_and(|it| it != spec);
        let resolved = sync.status.as_ref().and_then(|status| status.resolved_ref.as_deref());
        let is_tag = spec.starts_with("refs/tags/")
            || resolved.is_some_and(|resolved| resolved.starts_with("refs/tags/"));
        Self {
            spec,
            requested: get(Annotation::RequestedRef).filter(|_| !is_void),
            requested_at: get(Annotation::RequestedAt).and_then(|at| at.parse().ok()),
            is_tag,
        }
    }

    fn effective(&self) -> &'a str {
        self.requested.unwrap_or(self.spec)
    }

    fn pushed(&self, branches: &[String]) -> Outcome {
        let effective = self.effective();
        if branches.iter().any(|branch| is_branch(effective, branch)) {
            return Outcome::Recheck(short(effective).to_owned());
        }
        if branches.iter().any(|branch| is_branch(self.spec, branch)) {
            return Outcome::Ignore(format!("{effective:?} is requested instead"));
        }
        let branch = branches.first().map(String::as_str).unwrap_or_default();
        Outcome::Ignore(format!("this GatewaySync follows {:?}, not {branch:?}", short(effective)))
    }

    fn tagged(&self, tags: &[String]) -> Outcome {
        let effective = self.effective();
        let is_range = RefName::parse(self.spec).is_ok_and(|it| it.semver_range().is_some());
        if is_range || tags.iter().any(|tag| short(effective) == tag) {
            return Outcome::Recheck(short(effective).to_owned());
        }
        match tags {
            [tag, ..] if self.is_tag && RefName::parse(tag).is_ok() => {
                Outcome::Request(tag.clone())
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
        let is_older = hint.at.zip(self.requested_at).is_some_and(|(at, before)| at < before);
        if self.requested.is_some() && is_older {
            return Outcome::Ignore("a newer request is in force".to_owned());
        }
        // A script may ask for the same thing again and mean it; only a time tells a replay apart.
        let is_script =
            matches!(hint.source, Requester::Generic | Requester::Argocd | Requester::Kargo);
        let is_replayed = situation.is_repeated && (hint.at.is_some() || !is_script);
        if is_replayed || short(self.effective()) == wanted {
            return Outcome::Recheck(short(self.effective()).to_owned());
        }
        Outcome::Request(wanted.to_owned())
    }
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
