//! The CEL rules of the schema: what is refused at apply time, and what the user is told.
//!
//! Every message names the field and the remedy. The rules accept what the parsers in
//! [`crate::word`] accept; where CEL can't say a thing within its budget (the syntax of templates
//! and globs in full, the values of `set`), the validating webhook says it. The budget: a rule
//! costs its own estimate times the number of places it may stand in, see [`crate::limit`].

mod bootstrap;
mod git;
mod grammar;
mod image;
mod sync;

use serde_json::{Value, json};

pub(crate) use bootstrap::{
    ca_source, mount_path, namespace_name, registry_prefix, trust_bundle, variable_name,
    variable_names,
};
pub(crate) use git::{api_base_url, auth, git, git_ref, http_url, repo_url, username};
use grammar::INTERVAL;
pub(crate) use image::{image_digest, image_repository, image_tag};
pub(crate) use sync::{
    destination, glob, mappings, patch_file, patch_set, path, percent, profile_names, var_keys,
};

fn rules<const N: usize>(pairs: [(String, String); N]) -> Value {
    pairs.into_iter().map(|(rule, message)| json!({ "rule": rule, "message": message })).collect()
}

fn rule(rule: &str, message: &str) -> (String, String) {
    (rule.to_owned(), message.to_owned())
}

/// A field of a later version: refused whatever its value is.
pub(crate) fn reserved(field: &str) -> Value {
    rules([rule("false", &format!("{field} is not supported by this version; remove it"))])
}

/// The name of a GatewaySync becomes the value of a label.
pub(crate) fn cr_name() -> Value {
    rules([rule(
        &format!("size(self.metadata.name) <= {}", crate::limit::CR_NAME),
        "metadata.name has at most 63 characters, because objects carry it as a label: shorten it",
    )])
}

pub(crate) fn interval(field: &str) -> Value {
    rules([(
        format!("self.matches(r'{INTERVAL}') && duration(self) >= duration('5s')"),
        format!("{field} must be an interval of at least 5s, such as 60s, 5m or 1h30m"),
    )])
}

pub(crate) fn interval_or_zero(field: &str) -> Value {
    rules([(
        format!(
            "self.matches(r'{INTERVAL}') && (duration(self) == duration('0s') || duration(self) >= duration('5s'))"
        ),
        format!("{field} must be 0 or an interval of at least 5s, such as 60s, 5m or 1h30m"),
    )])
}

pub(crate) fn gateway() -> Value {
    rules([rule(
        "!(has(self.api) && has(self.apiKeySecretRef))",
        "gateway.api and gateway.apiKeySecretRef mean the same: set only one of the two",
    )])
}

pub(crate) fn webhook() -> Value {
    rules([rule(
        "!has(self.previousSecretRef) || has(self.secretRef)",
        "webhook.previousSecretRef is the one that is rotated out: set webhook.secretRef, too",
    )])
}

pub(crate) fn object_name() -> Value {
    rules([rule(
        "self.matches(r'^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",
        "the name of a Secret has lower-case letters, digits, \"-\" and \".\" only: correct it",
    )])
}

pub(crate) fn data_key() -> Value {
    rules([rule(
        "self.matches(r'^[-._a-zA-Z0-9]+$')",
        "a key in a Secret has letters, digits, \"-\", \"_\" and \".\" only: correct it",
    )])
}
