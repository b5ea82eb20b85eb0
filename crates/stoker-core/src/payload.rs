//! The body of a push event -> [`Hint`] -> [`Outcome`].
//!
//! # Flow
//! [`Scanner`] reads a body as it arrives and keeps only the few fields that a format needs.
//! [`recognise`] asks the formats in their written order. [`decide`] compares the hint with the
//! GatewaySync.
//!
//! # Promises
//! A payload only hints: a push makes the controller ask the remote, and only releases, generic
//! bodies and promotions name a ref to be requested. Memory is bounded whatever the body holds.
//! Nothing in a body chooses a URL, a host or a credential.

mod argocd;
mod azure_devops;
mod bitbucket;
mod decision;
mod flux;
mod generic;
mod gitea;
mod github;
mod gitlab;
mod kargo;
mod repository;
mod scan;

use jiff::Timestamp;
use stoker_api::condition::Requester;

pub use decision::{Annotations, Outcome, Situation, decide, recheck};
pub use repository::is_same as is_same_repository;
pub use scan::{Fields, NotJson, Scalar, Scanner};

/// Reads a delivery, or says that it is not of this format.
pub type Format = fn(&Delivery<'_>) -> Option<Hint>;

/// Who sends which format, tried in this order; the first that recognises the body counts.
///
/// Gitea sends GitHub's headers as well, so it comes first. Formats with a header come before
/// those that are recognised by their shape.
pub const FORMATS: &[(Requester, Format)] = &[
    (Requester::Gitea, gitea::read),
    (Requester::Github, github::read),
    (Requester::Gitlab, gitlab::read),
    (Requester::Bitbucket, bitbucket::read),
    (Requester::Flux, flux::read),
    (Requester::Azuredevops, azure_devops::read),
    (Requester::Argocd, argocd::read),
    (Requester::Kargo, kargo::read),
    (Requester::Generic, generic::read),
];

/// What was delivered: headers and the fields of the body.
#[derive(Debug, Clone, Copy)]
pub struct Delivery<'a> {
    /// The headers that name events, by their name in lower case.
    pub headers: &'a [Header],
    /// The fields of the body.
    pub fields: &'a Fields,
}

/// A header of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Its name in lower case.
    pub name: &'static str,
    /// Its value.
    pub value: String,
}

/// The headers that formats look at.
pub const EVENT_HEADERS: &[&str] = &[
    "x-gitea-event",
    "x-forgejo-event",
    "x-gogs-event",
    "x-github-event",
    "x-gitlab-event",
    "x-event-key",
    "gotk-component",
];

/// What a delivery says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// Who sent it.
    pub source: Requester,
    /// The path of the repository that it names, such as `org/repo`.
    pub repository: Option<String>,
    /// What happened.
    pub event: Event,
    /// When it happened, as the sender signed it.
    pub at: Option<Timestamp>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "a field is named after what it holds")]
pub enum Event {
    /// These branches and tags were pushed, in one go.
    Push { branches: Vec<String>, tags: Vec<String> },
    /// A ref is asked for: by a release, a promotion or a person.
    Request(String),
    /// Nothing that asks for anything; the text says what.
    Nothing(&'static str),
}

impl Event {
    fn branch(name: &str) -> Self {
        Self::Push { branches: vec![name.to_owned()], tags: Vec::new() }
    }

    fn tag(name: &str) -> Self {
        Self::Push { branches: Vec::new(), tags: vec![name.to_owned()] }
    }

    /// Returns the push of these branches and tags, if there are any.
    fn push(branches: Vec<String>, tags: Vec<String>) -> Self {
        if branches.is_empty() && tags.is_empty() {
            return Self::Nothing("no branch and no tag was pushed");
        }
        Self::Push { branches, tags }
    }
}

impl<'a> Delivery<'a> {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.iter().find(|it| it.name == name).map(|it| it.value.as_str())
    }

    fn text(&self, path: &str) -> Option<&'a str> {
        self.fields.text(path)
    }

    fn is_true(&self, path: &str) -> bool {
        self.fields.get(path) == Some(&Scalar::Bool(true))
    }

    fn time(&self, path: &str) -> Option<Timestamp> {
        self.text(path)?.parse().ok()
    }
}

/// Returns what the delivery says, by the first format that recognises it.
pub fn recognise(delivery: &Delivery<'_>) -> Option<Hint> {
    FORMATS.iter().find_map(|(_, read)| read(delivery))
}

/// Splits a full ref: `refs/heads/main` is a push to `main`, `refs/tags/v1` the tag `v1`.
fn event_of(full: &str) -> Event {
    if let Some(branch) = full.strip_prefix("refs/heads/") {
        return Event::branch(branch);
    }
    match full.strip_prefix("refs/tags/") {
        Some(tag) => Event::tag(tag),
        None => Event::Nothing("the ref is neither a branch nor a tag"),
    }
}

/// Says whether a commit id stands for "there is none": the ref was deleted.
fn is_zero(id: Option<&str>) -> bool {
    id.is_some_and(|id| !id.is_empty() && id.bytes().all(|byte| byte == b'0'))
}

/// Returns a release's request: only a published one that is neither a draft nor a prerelease.
///
/// GitHub says `released` where a prerelease becomes a release.
fn release(delivery: &Delivery<'_>) -> Event {
    if !matches!(delivery.text("action"), Some("published" | "released")) {
        return Event::Nothing("the release was not published just now");
    }
    if delivery.is_true("release/draft") {
        return Event::Nothing("the release is a draft");
    }
    if delivery.is_true("release/prerelease") {
        return Event::Nothing("the release is a prerelease");
    }
    match delivery.text("release/tag_name") {
        Some(tag) => Event::Request(tag.to_owned()),
        None => Event::Nothing("the release names no tag"),
    }
}

/// Returns the event of a push as GitHub and Gitea send it.
fn push(delivery: &Delivery<'_>) -> Event {
    if delivery.is_true("deleted") || is_zero(delivery.text("after")) {
        return Event::Nothing("the ref was deleted");
    }
    match delivery.text("ref") {
        Some(full) => event_of(full),
        None => Event::Nothing("the push names no ref"),
    }
}

/// Returns the event of a created ref as GitHub and Gitea send it.
fn create(delivery: &Delivery<'_>) -> Event {
    match (delivery.text("ref_type"), delivery.text("ref")) {
        (Some("tag"), Some(tag)) => Event::tag(tag.strip_prefix("refs/tags/").unwrap_or(tag)),
        (Some("branch"), Some(branch)) => {
            Event::branch(branch.strip_prefix("refs/heads/").unwrap_or(branch))
        }
        _ => Event::Nothing("neither a branch nor a tag was created"),
    }
}

#[cfg(test)]
mod tests;
