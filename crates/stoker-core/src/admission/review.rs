//! What is read of an `AdmissionReview`.

use serde::Deserialize;

use super::pod::{Text, nullable};

/// A review of an object of type `O`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Review<'a, O> {
    /// The version of the review.
    #[serde(borrow, default)]
    pub api_version: Text<'a>,
    /// What is to be reviewed.
    #[serde(borrow, bound(deserialize = "O: Deserialize<'de>"))]
    pub request: Request<'a, O>,
}

/// What is to be reviewed.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request<'a, O> {
    /// The id that the response repeats.
    #[serde(borrow)]
    pub uid: Text<'a>,
    /// The kind of the object.
    #[serde(borrow, default, deserialize_with = "nullable")]
    pub kind: Kind<'a>,
    /// The part of the object that is written, such as `ephemeralcontainers`.
    #[serde(borrow, default)]
    pub sub_resource: Option<Text<'a>>,
    /// The namespace of the object.
    #[serde(borrow, default)]
    pub namespace: Option<Text<'a>>,
    /// What is done to it.
    #[serde(borrow, default)]
    pub operation: Text<'a>,
    /// Whether nothing is stored in the end.
    #[serde(default)]
    pub dry_run: Option<bool>,
    /// The object.
    #[serde(default = "Option::default", bound(deserialize = "O: Deserialize<'de>"))]
    pub object: Option<O>,
    /// The object before the change.
    #[serde(default = "Option::default", bound(deserialize = "O: Deserialize<'de>"))]
    pub old_object: Option<O>,
}

/// The kind of an object.
#[derive(Debug, Default, Deserialize)]
pub struct Kind<'a> {
    /// The API group; empty for pods.
    #[serde(borrow, default)]
    pub group: Text<'a>,
    /// The kind.
    #[serde(borrow, default)]
    pub kind: Text<'a>,
}

impl<O> Request<'_, O> {
    /// Says whether an object of this kind is being created.
    pub fn is_creation_of(&self, group: &str, kind: &str) -> bool {
        let is_whole = self.sub_resource.as_ref().is_none_or(|part| part.is_empty());
        &*self.operation == "CREATE"
            && is_whole
            && &*self.kind.group == group
            && &*self.kind.kind == kind
    }
}
