//! One pod: read, decide, respond.
//!
//! Everything comes from the view, but for a namespace that is younger than it: that costs one
//! read of at most 200 ms. What fails admits the pod unchanged, with a warning, an event and a
//! count.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::Api;
use serde::de::IgnoredAny;
use serde_json::json;
use stoker_api::chain::Chain;
use stoker_api::condition::EventReason;
use stoker_core::admission::Review;
use stoker_core::bootstrap::{self, Outcome, Part, Pod};

use super::Bootstrap;
use super::view::Space;
use crate::admission::response;

/// The API server waits 1 s for the whole response.
const WITHIN: Duration = Duration::from_millis(200);
const VERSION: &str = "admission.k8s.io/v1";
const EPHEMERAL: &str = "ephemeralcontainers";

/// What came of a pod.
enum Reviewed {
    /// It was decided about.
    Decided(Outcome),
    /// It is none of ours, for this reason.
    Passed(&'static str),
    /// Something failed, and it is admitted unchanged.
    Failed(String),
}

impl Bootstrap {
    /// Reviews a pod, and returns the body of the response.
    pub(crate) async fn review(&self, body: &[u8]) -> Result<Vec<u8>, &'static str> {
        let started = Instant::now();
        let invalid = "the body is not an AdmissionReview of admission.k8s.io/v1";
        let head: Review<'_, IgnoredAny> = serde_json::from_slice(body).map_err(|_| invalid)?;
        if &*head.api_version != VERSION {
            return Err(invalid);
        }
        let namespace = head.request.namespace.as_deref().unwrap_or_default();
        let reviewed = self.judge(body, namespace).await;
        let result = reviewed.word();
        if let Reviewed::Failed(reason) = &reviewed {
            tracing::warn!(namespace, reason, "a pod was admitted without bootstrap");
            if head.request.dry_run != Some(true) {
                let text =
                    format!("a pod in namespace {namespace} was admitted unchanged: {reason}");
                self.0.events.add(EventReason::BootstrapFailed, "Admit", text);
            }
        }
        self.0.metrics.reviewed(result, started.elapsed());
        Ok(reviewed.response(&head.request.uid))
    }

    async fn judge(&self, body: &[u8], namespace: &str) -> Reviewed {
        if !self.0.scope.serves(namespace) {
            return Reviewed::Passed("not-served");
        }
        let Some(in_force) = self.0.view.in_force() else {
            return Reviewed::Passed("no-policy");
        };
        let review: Review<'_, Pod<'_>> = match serde_json::from_slice(body) {
            Ok(review) => review,
            Err(error) => return Reviewed::Failed(format!("the pod can't be read: {error}")),
        };
        let request = review.request;
        let pod = request.object.unwrap_or_default();
        let old = request.old_object.unwrap_or_default();
        let known = old.ephemeral_names();
        let sub_resource = request.sub_resource.as_deref().unwrap_or_default();
        let part = match (&*request.operation, sub_resource) {
            ("CREATE", "") => Part::Whole,
            ("UPDATE", EPHEMERAL) => Part::Ephemeral { known: &known },
            _ => return Reviewed::Passed("not-a-creation"),
        };
        let space = match self.space(namespace).await {
            Ok(space) => space,
            Err(reason) => return Reviewed::Failed(reason),
        };
        let certificates = self.0.view.certificates(namespace);
        let space = bootstrap::Namespace {
            name: namespace,
            annotations: &space.annotations,
            certificates: certificates.as_deref(),
        };
        let outcome = bootstrap::decide(&pod, part, space, &in_force.policy);
        let changes = outcome.patch.0.len();
        tracing::debug!(namespace, name = pod.display_name(), changes, "bootstrapped a pod");
        Reviewed::Decided(outcome)
    }

    /// Returns what is known about a namespace; one that is not known yet is read.
    async fn space(&self, name: &str) -> Result<Arc<Space>, String> {
        if let Some(space) = self.0.view.namespace(name) {
            return Ok(space);
        }
        let api: Api<Namespace> = Api::all(self.0.client.clone());
        match tokio::time::timeout(WITHIN, api.get_metadata(name)).await {
            Ok(Ok(found)) => Ok(Arc::new(Space::of(&found.metadata))),
            Ok(Err(error)) => Err(format!("failed to read namespace {name:?}: {}", Chain(&error))),
            Err(_) => Err(format!("failed to read namespace {name:?} within {WITHIN:?}")),
        }
    }
}

impl Reviewed {
    fn word(&self) -> &'static str {
        match self {
            Self::Decided(outcome) => match outcome.pass {
                Some(pass) => pass.as_str(),
                None if outcome.patch.0.is_empty() => "unchanged",
                None => "changed",
            },
            Self::Passed(reason) => reason,
            Self::Failed(_) => "failed",
        }
    }

    fn response(&self, uid: &str) -> Vec<u8> {
        let mut response = json!({ "uid": uid, "allowed": true });
        match self {
            Self::Decided(outcome) => {
                if !outcome.patch.0.is_empty() {
                    // A patch is a list of plain values: it can't fail to be written.
                    let patch = serde_json::to_vec(&outcome.patch).unwrap_or_default();
                    response["patchType"] = json!("JSONPatch");
                    response["patch"] = json!(STANDARD.encode(patch));
                }
                if !outcome.warnings.is_empty() {
                    let warnings = outcome.warnings.iter().map(|it| format!("stoker: {it}"));
                    response["warnings"] = warnings.collect();
                }
            }
            Self::Passed(_) => {}
            Self::Failed(reason) => {
                let warning = format!("stoker: the pod is admitted without bootstrap: {reason}");
                response["warnings"] = json!([warning]);
            }
        }
        response::review(&response)
    }
}
