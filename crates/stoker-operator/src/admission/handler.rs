//! One admission request: read, decide, respond, log.

use std::net::SocketAddr;
use std::time::Instant;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::{Method, Request, StatusCode};
use stoker_core::admission::{
    Decision, Pass, Peek, Pod, Policy, Review, Settings, World, asks, decide,
};
use stoker_runtime::server::{Handler, Reply, json, text};

use super::Metrics;
use super::lookup::look_up;
use super::response;
use crate::directory::Directory;

/// The largest request that is read. The API server's objects are at most 3 MiB.
const LARGEST: usize = 8 * 1024 * 1024;
const VERSION: &str = "admission.k8s.io/v1";

/// The admission webhook.
pub(super) struct Webhook {
    pub(super) directory: Directory,
    pub(super) settings: Settings,
    pub(super) policy: Policy,
    pub(super) metrics: Metrics,
}

/// What was done with a pod.
struct Reviewed {
    uid: String,
    decision: Decision,
}

impl Handler for Webhook {
    async fn respond(&self, request: Request<Incoming>, _: SocketAddr) -> Reply {
        if request.uri().path() != "/mutate-v1-pod" {
            return text(StatusCode::NOT_FOUND, "not found\n");
        }
        if *request.method() != Method::POST {
            return text(StatusCode::METHOD_NOT_ALLOWED, "only POST is served here\n");
        }
        let started = Instant::now();
        let body = match read(request.into_body()).await {
            Ok(body) => body,
            Err(refusal) => return refusal,
        };
        match self.review(&body).await {
            Ok(Reviewed { uid, decision }) => {
                self.metrics.count(word(&decision), started.elapsed());
                json(StatusCode::OK, response::build(&uid, &decision))
            }
            Err(reason) => {
                self.metrics.count("invalid", started.elapsed());
                text(StatusCode::BAD_REQUEST, format!("{reason}\n"))
            }
        }
    }
}

impl Webhook {
    async fn review(&self, body: &[u8]) -> Result<Reviewed, &'static str> {
        // Only the annotations first: a pod that does not ask costs no more than skipping it.
        let review: Review<'_, Peek<'_>> = parse(body)?;
        if &*review.api_version != VERSION {
            return Err("the body is not an AdmissionReview of admission.k8s.io/v1");
        }
        let uid = review.request.uid.to_string();
        if !review.request.is_creation_of("", "Pod") {
            return Ok(Reviewed { uid, decision: Decision::Pass(Pass::NotACreation) });
        }
        let namespace = review.request.namespace.as_deref().unwrap_or_default().to_owned();
        let is_asked = review.request.object.as_ref().is_some_and(asks);
        if !is_asked || !self.directory.serves(&namespace) {
            return Ok(Reviewed { uid, decision: Decision::Pass(Pass::NotAsked) });
        }
        let review: Review<'_, Pod<'_>> = parse(body)?;
        let pod = review.request.object.unwrap_or_default();
        let decision = self.judge(&namespace, &pod).await;
        announce(&namespace, &pod, &decision);
        Ok(Reviewed { uid, decision })
    }

    async fn judge(&self, namespace: &str, pod: &Pod<'_>) -> Decision {
        if let Some(pass) = stoker_core::admission::triage(pod) {
            return Decision::Pass(pass);
        }
        let found = look_up(&self.directory, namespace, pod).await;
        let world = World {
            syncs: found.syncs.iter().map(|sync| &**sync).collect(),
            has_sync_profile: found.has_sync_profile,
            is_complete: found.is_complete,
        };
        let policy = self.directory.policy(namespace).unwrap_or(self.policy);
        decide(pod, &world, &self.settings, policy)
    }
}

fn parse<'a, T: serde::Deserialize<'a>>(body: &'a [u8]) -> Result<T, &'static str> {
    serde_json::from_slice(body).map_err(|_| "the body is not an AdmissionReview of a pod")
}

async fn read(body: Incoming) -> Result<Bytes, Reply> {
    let too_large = || text(StatusCode::PAYLOAD_TOO_LARGE, "the request is larger than 8 MiB\n");
    if body.size_hint().lower() > LARGEST as u64 {
        return Err(too_large());
    }
    match Limited::new(body, LARGEST).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => Err(too_large()),
        Err(_) => Err(text(StatusCode::BAD_REQUEST, "the request ended early\n")),
    }
}

fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Pass(pass) => pass.as_str(),
        Decision::Admit(_) => "admitted-without-agent",
        Decision::Deny(_) => "denied",
        Decision::Inject(_) => "injected",
    }
}

/// One line per attempt.
fn announce(namespace: &str, pod: &Pod<'_>, decision: &Decision) {
    let name = pod.display_name();
    let result = word(decision);
    match decision {
        Decision::Pass(_) => tracing::debug!(namespace, name, result, "reviewed a pod"),
        Decision::Admit(warnings) => {
            let reason = warnings.join("; ");
            tracing::warn!(namespace, name, result, reason, "reviewed a pod");
        }
        Decision::Deny(denial) => {
            let sync = denial.sync.as_deref().unwrap_or_default();
            let reason = &denial.message;
            tracing::warn!(namespace, name, sync, result, reason, "reviewed a pod");
        }
        Decision::Inject(injection) => {
            let sync = &injection.sync;
            let reason = injection.warnings.join("; ");
            tracing::info!(namespace, name, sync, result, reason, "reviewed a pod");
        }
    }
}
