//! One admission request: read, decide, respond, log.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::{Method, Request, StatusCode};
use stoker_core::admission::{
    Decision, Pass, Peek, Pod, Policy, Review, Settings, World, asks, decide,
};
use stoker_runtime::server::{Handler, Reply, json, text};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Metrics;
use super::denial::{Denials, Denied};
use super::lookup::look_up;
use super::response;
use super::validate;
use crate::bootstrap::Bootstrap;
use crate::directory::Directory;

/// The largest request that is read. The API server's objects are at most 3 MiB.
const LARGEST: usize = 4 * 1024 * 1024;
/// Bytes of all requests that are being read or answered at one moment.
const IN_FLIGHT: usize = 32 * 1024 * 1024;
/// Lists, objects and their elements in a request. A short text can ask for many of them, and each
/// takes memory; a pod of a gateway has some hundred.
const ELEMENTS: usize = 50_000;
const VERSION: &str = "admission.k8s.io/v1";

/// The admission webhook.
pub(super) struct Webhook {
    pub(super) directory: Directory,
    pub(super) settings: Settings,
    pub(super) policy: Policy,
    pub(super) metrics: Metrics,
    pub(super) memory: Memory,
    pub(super) denials: Denials,
    pub(super) bootstrap: Option<Bootstrap>,
}

/// What is asked.
#[derive(Debug, Clone, Copy)]
enum Route {
    Injection,
    Validation,
    Bootstrap,
}

/// What requests may take of memory, all together.
pub(super) struct Memory(Arc<Semaphore>);

/// A request, and the memory that it takes.
struct Body {
    bytes: Vec<u8>,
    taken: Vec<OwnedSemaphorePermit>,
}

/// What was done with a pod.
struct Reviewed {
    uid: String,
    decision: Decision,
}

impl Handler for Webhook {
    async fn respond(&self, request: Request<Incoming>, _: SocketAddr) -> Reply {
        let route = match request.uri().path() {
            "/mutate-v1-pod" => Route::Injection,
            "/validate-stoker" => Route::Validation,
            "/bootstrap-v1-pod" => Route::Bootstrap,
            #[cfg(feature = "panic")]
            "/panic" => panic!("on purpose"),
            _ => return text(StatusCode::NOT_FOUND, "not found\n"),
        };
        if *request.method() != Method::POST {
            return text(StatusCode::METHOD_NOT_ALLOWED, "only POST is served here\n");
        }
        let started = Instant::now();
        let body = match self.memory.read(request.into_body()).await {
            Ok(body) => body,
            Err(refusal) => return refusal,
        };
        if has_too_many_elements(&body.bytes) {
            return text(StatusCode::PAYLOAD_TOO_LARGE, "the request has too many elements\n");
        }
        let reviewed = match (route, &self.bootstrap) {
            (Route::Injection, _) => None,
            (Route::Validation, _) => {
                Some(validate::review(&body.bytes, self.directory.defaults()))
            }
            (Route::Bootstrap, Some(bootstrap)) => Some(bootstrap.review(&body.bytes).await),
            (Route::Bootstrap, None) => Some(Err("bootstrap is off")),
        };
        if let Some(reviewed) = reviewed {
            return reviewed.map_or_else(
                |reason| text(StatusCode::BAD_REQUEST, format!("{reason}\n")),
                |response| json(StatusCode::OK, response),
            );
        }
        match self.review(&body.bytes).await {
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
        if review.request.dry_run != Some(true) {
            self.record(&namespace, &decision);
        }
        Ok(Reviewed { uid, decision })
    }

    /// Writes an event about a denial.
    fn record(&self, namespace: &str, decision: &Decision) {
        let Decision::Deny(denial) = decision else { return };
        let Some(sync) = &denial.sync else { return };
        let known = self.directory.sync(namespace, sync);
        self.denials.add(Denied {
            namespace: namespace.to_owned(),
            sync: sync.clone(),
            uid: known.and_then(|known| known.metadata.uid.clone()),
            message: denial.message.clone(),
        });
    }

    async fn judge(&self, namespace: &str, pod: &Pod<'_>) -> Decision {
        if let Some(pass) = stoker_core::admission::triage(pod) {
            return Decision::Pass(pass);
        }
        let found = look_up(&self.directory, namespace, pod).await;
        if found.is_of_another {
            return Decision::Pass(Pass::NotServed);
        }
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

impl Default for Memory {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(IN_FLIGHT)))
    }
}

impl Memory {
    /// Reads a request, as long as there is room for it.
    async fn read(&self, mut incoming: Incoming) -> Result<Body, Reply> {
        let mut body = Body { bytes: Vec::new(), taken: Vec::new() };
        if incoming.size_hint().lower() > LARGEST as u64 {
            return Err(too_large());
        }
        while let Some(frame) = incoming.frame().await {
            let early = |_| text(StatusCode::BAD_REQUEST, "the request ended early\n");
            let Ok(bytes) = frame.map_err(early)?.into_data() else { continue };
            if body.bytes.len() + bytes.len() > LARGEST {
                return Err(too_large());
            }
            let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            let taken = Arc::clone(&self.0).try_acquire_many_owned(length);
            body.taken.push(taken.map_err(|_| busy())?);
            body.bytes.extend_from_slice(&bytes);
        }
        Ok(body)
    }
}

fn has_too_many_elements(body: &[u8]) -> bool {
    let marks = body.iter().filter(|byte| matches!(byte, b',' | b'{' | b'['));
    marks.take(ELEMENTS + 1).count() > ELEMENTS
}

fn too_large() -> Reply {
    text(StatusCode::PAYLOAD_TOO_LARGE, "the request is larger than 4 MiB\n")
}

fn busy() -> Reply {
    text(StatusCode::SERVICE_UNAVAILABLE, "too many large requests at once\n")
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
