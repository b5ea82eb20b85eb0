//! `POST /validate-stoker`: GatewaySyncs, SyncProfiles and PodBootstraps, beyond what their schema
//! says.
//!
//! # Promises
//! An object whose spec does not change is never denied: finalizers, annotations and deletion must
//! work for objects that were stored while the webhook was away. Status is never looked at.

use std::sync::Arc;

use serde_json::{Value, json};
use stoker_api::PodBootstrap;
use stoker_api::podbootstrap::POLICY_NAME;
use stoker_core::admission::{Request, Review, Validity, validate_profile, validate_sync};
use stoker_core::bootstrap;

use super::response;
use crate::defaults::Current;

/// Reviews an object, and returns the body of the response.
pub(super) fn review(body: &[u8], defaults: &Current) -> Result<Vec<u8>, &'static str> {
    let review: Review<'_, Value> = serde_json::from_slice(body)
        .map_err(|_| "the body is not an AdmissionReview of a Stoker object")?;
    let request = review.request;
    let uid = request.uid.to_string();
    let Validity { denial, warnings } = judge(request, defaults);
    let mut response = json!({ "uid": uid, "allowed": denial.is_none() });
    if let Some(message) = denial {
        response["status"] = json!({ "code": 422, "message": message });
    }
    if !warnings.is_empty() {
        response["warnings"] = json!(warnings);
    }
    Ok(response::review(&response))
}

fn judge(request: Request<'_, Value>, defaults: &Current) -> Validity {
    let is_part = request.sub_resource.as_ref().is_some_and(|part| !part.is_empty());
    let Some(object) = request.object.filter(|_| !is_part) else { return Validity::default() };
    let is_unchanged = request.old_object.is_some_and(|old| old["spec"] == object["spec"]);
    if is_unchanged || !object["metadata"]["deletionTimestamp"].is_null() {
        return Validity::default();
    }
    // The API server has checked the schema: what can't be read is a newer version's.
    match &*request.kind.kind {
        "GatewaySync" => {
            let read = serde_json::from_value(object).map(|sync| defaults.merged(Arc::new(sync)));
            read.map_or_else(unread, |sync| validate_sync(&sync))
        }
        "SyncProfile" => {
            serde_json::from_value(object).map_or_else(unread, |it| validate_profile(&it))
        }
        "PodBootstrap" => {
            serde_json::from_value(object).map_or_else(unread, |it| validate_bootstrap(&it))
        }
        _ => Validity::default(),
    }
}

fn validate_bootstrap(object: &PodBootstrap) -> Validity {
    let problems = bootstrap::Policy::compile(&object.spec).err();
    let denial = problems.map(|problems| {
        let text: Vec<String> = problems.iter().map(ToString::to_string).collect();
        text.join("; ")
    });
    let is_used = object.metadata.name.as_deref() == Some(POLICY_NAME);
    let warning = format!("stoker: only the PodBootstrap named {POLICY_NAME:?} is used");
    let warnings = if is_used { Vec::new() } else { vec![warning] };
    Validity { denial, warnings }
}

fn unread(_: serde_json::Error) -> Validity {
    let warning = "stoker: this version of the operator can't read the object and did not check it";
    Validity { denial: None, warnings: vec![warning.to_owned()] }
}

#[cfg(test)]
mod tests {
    use stoker_runtime::telemetry::Filter;

    use super::*;

    fn allowed(object: &Value, old: &Value, part: &str) -> bool {
        let body = json!({
            "apiVersion": "admission.k8s.io/v1",
            "request": {
                "uid": "1",
                "kind": { "group": "stoker.io", "kind": "GatewaySync" },
                "operation": "UPDATE",
                "subResource": part,
                "object": object,
                "oldObject": old,
            },
        });
        let none = crate::defaults::start(None, &Filter::default()).unwrap();
        let response: Value =
            serde_json::from_slice(&review(body.to_string().as_bytes(), &none).unwrap()).unwrap();
        response["response"]["allowed"] == true
    }

    #[test]
    fn only_a_changed_spec_is_denied() {
        let object = |source: &str, deletion: Option<&str>| {
            json!({
                "apiVersion": "stoker.io/v1alpha1",
                "kind": "GatewaySync",
                "metadata": { "name": "plant", "deletionTimestamp": deletion },
                "spec": {
                    "git": { "repo": "https://git.example.com/a.git", "ref": "main" },
                    "sync": { "profiles": { "default": {
                        "mappings": [{ "source": source, "destination": "projects" }],
                    } } },
                },
            })
        };
        let (good, bad) = (object("a", None), object("{{.Nope", None));
        assert!(allowed(&good, &Value::Null, ""));
        assert!(!allowed(&bad, &good, ""));
        assert!(allowed(&bad, &bad, ""));
        assert!(allowed(&bad, &good, "status"));
        assert!(allowed(&object("{{.Nope", Some("2026-01-01T00:00:00Z")), &good, ""));
    }
}
