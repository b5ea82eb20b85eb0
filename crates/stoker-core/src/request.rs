//! Which ref is wanted: the spec's, or one that was requested by annotation.
//!
//! A request is for the `spec.git.ref` of its moment (`requested-for`). A later change of the spec
//! makes it void: the newest intent wins.

use std::collections::BTreeMap;

use jiff::Timestamp;
use stoker_api::condition::Requester;
use stoker_api::names::Annotation;
use stoker_api::word::{RefName, RefNameError};

/// The four annotations of a request.
pub const REQUEST: [Annotation; 4] = [
    Annotation::RequestedRef,
    Annotation::RequestedAt,
    Annotation::RequestedBy,
    Annotation::RequestedFor,
];

/// What is wanted, and what has to change on the GatewaySync.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The ref that counts, or why it can't be used.
    pub wanted: Result<RefName, InvalidRef>,
    /// When a sync was asked for.
    pub at: Option<Timestamp>,
    /// Who asked.
    pub by: Option<Requester>,
    /// Annotations to set, or to remove where the value is none.
    pub changes: BTreeMap<Annotation, Option<String>>,
}

/// A ref that can't be used, and where it is written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {text:?} is not a ref")]
pub struct InvalidRef {
    /// The field or annotation.
    pub field: &'static str,
    /// What it holds.
    pub text: String,
    /// What is wrong with it.
    #[source]
    pub source: RefNameError,
}

/// Decides which ref is wanted.
pub fn decide(annotations: &BTreeMap<String, String>, spec_ref: &str, now: Timestamp) -> Request {
    let get = |annotation: Annotation| {
        annotations.get(annotation.as_str()).map(String::as_str).filter(|text| !text.is_empty())
    };
    let clear = |request: Request| {
        let present = REQUEST.into_iter().filter(|it| annotations.contains_key(it.as_str()));
        Request { changes: present.map(|it| (it, None)).collect(), ..request }
    };
    let own = Request {
        wanted: parse("spec.git.ref", spec_ref),
        at: None,
        by: None,
        changes: BTreeMap::new(),
    };
    let Some(requested) = get(Annotation::RequestedRef) else {
        return clear(own);
    };
    let is_void = get(Annotation::RequestedFor).is_some_and(|made_for| made_for != spec_ref);
    if is_void {
        return clear(own);
    }
    let stamped = get(Annotation::RequestedAt).and_then(|at| at.parse::<Timestamp>().ok());
    let mut changes = BTreeMap::new();
    if stamped.is_none() {
        changes.insert(Annotation::RequestedAt, Some(now.to_string()));
    }
    if get(Annotation::RequestedFor).is_none() {
        changes.insert(Annotation::RequestedFor, Some(spec_ref.to_owned()));
    }
    Request {
        wanted: parse("the annotation stoker.io/requested-ref", requested),
        at: stamped.or(Some(now)),
        by: get(Annotation::RequestedBy).and_then(Requester::find),
        changes,
    }
}

fn parse(field: &'static str, text: &str) -> Result<RefName, InvalidRef> {
    RefName::parse(text).map_err(|source| InvalidRef { field, text: text.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-16T12:00:00Z";

    fn annotated(pairs: &[(Annotation, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| (key.as_str().to_owned(), (*value).to_owned())).collect()
    }

    fn decided(pairs: &[(Annotation, &str)]) -> Request {
        decide(&annotated(pairs), "main", NOW.parse().unwrap())
    }

    #[test]
    fn without_a_request_the_spec_counts_and_leftovers_are_cleared() {
        let request = decided(&[(Annotation::RequestedBy, "cli")]);
        assert_eq!(request.wanted.unwrap().as_str(), "main");
        assert_eq!(request.changes, BTreeMap::from([(Annotation::RequestedBy, None)]));
        assert!(decided(&[]).changes.is_empty());
    }

    #[test]
    fn a_request_without_stamps_counts_as_made_now_for_the_present_ref() {
        let request = decided(&[(Annotation::RequestedRef, "v2")]);
        assert_eq!(request.wanted.unwrap().as_str(), "v2");
        assert_eq!(request.at, Some(NOW.parse().unwrap()));
        let stamps = [
            (Annotation::RequestedAt, Some(NOW.to_owned())),
            (Annotation::RequestedFor, Some("main".to_owned())),
        ];
        assert_eq!(request.changes, BTreeMap::from(stamps));
    }

    #[test]
    fn a_stamped_request_is_left_as_it_is() {
        let request = decided(&[
            (Annotation::RequestedRef, "v2"),
            (Annotation::RequestedAt, "2026-11-16T11:00:00Z"),
            (Annotation::RequestedFor, "main"),
            (Annotation::RequestedBy, "kargo"),
        ]);
        assert_eq!(request.by, Some(Requester::Kargo));
        assert!(request.changes.is_empty());
    }

    // R31, F16: newest intent wins.
    #[test]
    fn a_later_change_of_the_spec_makes_a_request_void_and_clears_it() {
        let request = decided(&[
            (Annotation::RequestedRef, "v2"),
            (Annotation::RequestedAt, NOW),
            (Annotation::RequestedFor, "develop"),
            (Annotation::RequestedBy, "cli"),
        ]);
        assert_eq!(request.wanted.unwrap().as_str(), "main");
        let cleared: BTreeMap<_, _> = REQUEST.into_iter().map(|it| (it, None)).collect();
        assert_eq!(request.changes, cleared);
        // The spec has caught up with what was requested.
        let made = REQUEST.into_iter().zip(["v2", NOW, "cli", "main"]).collect::<Vec<_>>();
        let request = decide(&annotated(&made), "v2", NOW.parse().unwrap());
        assert_eq!(request.wanted.unwrap().as_str(), "v2");
        assert_eq!(request.changes, cleared);
    }

    #[test]
    fn a_ref_that_is_none_is_refused_with_the_place_where_it_is_written() {
        let error = decided(&[(Annotation::RequestedRef, "--upload-pack=x")]).wanted.unwrap_err();
        assert_eq!(error.field, "the annotation stoker.io/requested-ref");
        let error = decide(&BTreeMap::new(), "a..b", NOW.parse().unwrap()).wanted.unwrap_err();
        assert_eq!(error.field, "spec.git.ref");
    }
}
