//! One delivery: authenticate, recognise, decide, write.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::body::Incoming;
use hyper::{HeaderMap, Method, Request};
use jiff::Timestamp;
use stoker_api::GatewaySync;
use stoker_api::condition::Requester;
use stoker_core::payload::{
    Delivery, EVENT_HEADERS, Fields, Header, Hint, Outcome, Situation, decide, recognise,
};
use stoker_runtime::server::{Handler, Reply};
use tokio::time::Instant;

use super::authentication::{Claim, Verdict, Verifier, verify_token};
use super::body::{self, Fault, Read};
use super::limit::FailureLimit;
use super::replay::{Replays, Seen};
use super::secret::{Keys, Secrets};
use super::writer::{self, Target, Writer};
use super::{Metrics, reply, source};
use crate::controller::Cidr;
use crate::directory::Directory;

/// Longer names can't be those of objects.
const LONGEST_NAME: usize = 253;

/// The receiver.
pub(super) struct Receiver {
    pub(super) directory: Directory,
    pub(super) secrets: Secrets,
    pub(super) writer: Writer,
    pub(super) replays: Replays,
    pub(super) failures: FailureLimit,
    pub(super) trusted_proxies: Vec<Cidr>,
    /// Whether deliveries are taken where no secret is configured.
    pub(super) is_open: bool,
    pub(super) metrics: Metrics,
}

/// A delivery that was authenticated.
struct Authentic {
    target: Target,
    sync: Arc<GatewaySync>,
    headers: Vec<Header>,
    fields: Option<Fields>,
    /// The signature, by which a repeated delivery is recognised.
    signature: Option<[u8; 32]>,
}

/// A response, and the format that the delivery had.
struct Answer {
    reply: Reply,
    source: Option<Requester>,
}

impl Handler for Receiver {
    async fn respond(&self, request: Request<Incoming>, peer: SocketAddr) -> Reply {
        let Answer { reply, source } = self.answer(request, peer).await;
        self.metrics.count(source, reply.status().as_u16());
        reply
    }
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self { reply, source: None }
    }
}

impl Receiver {
    async fn answer(&self, request: Request<Incoming>, peer: SocketAddr) -> Answer {
        let Some(target) = target(request.uri().path()) else { return reply::not_found().into() };
        if *request.method() != Method::POST {
            return reply::wrong_method().into();
        }
        if !self.is_open && !self.secrets.is_any_configured() {
            warn_once();
            return reply::no_secret().into();
        }
        match self.authenticate(target, request, peer).await {
            Ok(authentic) => self.take(authentic).await,
            Err(refusal) => refusal.into(),
        }
    }

    async fn authenticate(
        &self,
        target: Target,
        request: Request<Incoming>,
        peer: SocketAddr,
    ) -> Result<Authentic, Reply> {
        let sync = self.directory.sync(&target.namespace, &target.name);
        let keys = self.secrets.keys(sync.as_deref());
        let refuse =
            |headers: &HeaderMap| self.refuse(source::of(peer, headers, &self.trusted_proxies));
        let (parts, body) = request.into_parts();
        let claim = Claim::read(&parts.headers);
        let is_open = self.is_open && !sync.as_deref().is_some_and(Secrets::is_named);
        if claim == Claim::Nothing && !is_open {
            return Err(refuse(&parts.headers));
        }
        if body::is_too_large(&body) {
            return Err(reply::too_large());
        }
        let Read { verifier, fields } =
            body::read(body, Verifier::new(&keys)).await.map_err(|fault| match fault {
                Fault::TooLarge => reply::too_large(),
                Fault::EndedEarly => reply::invalid("the body ended early"),
            })?;
        let verdict = verdict(&keys, verifier, &claim, is_open);
        if verdict == Verdict::Refused {
            return Err(refuse(&parts.headers));
        }
        let is_enabled = |sync: &Arc<GatewaySync>| {
            let webhook = sync.spec.webhook.as_ref();
            webhook.and_then(|webhook| webhook.enabled).unwrap_or(true)
        };
        let sync = sync.filter(is_enabled).ok_or_else(reply::not_found)?;
        let signature = match claim {
            Claim::Signature(signature) => Some(signature),
            Claim::Token(_) | Claim::Nothing => None,
        };
        let headers = event_headers(&parts.headers);
        Ok(Authentic { target, sync, headers, fields, signature })
    }

    fn refuse(&self, source: std::net::IpAddr) -> Reply {
        self.failures.fail(source, Instant::now()).map_or_else(reply::unauthorized, reply::too_many)
    }

    async fn take(&self, authentic: Authentic) -> Answer {
        let Authentic { target, sync, headers, fields, signature } = authentic;
        let Some(fields) = fields else {
            let advice = "the body is not JSON: set the content type to application/json";
            return reply::invalid(advice).into();
        };
        let Some(hint) = recognise(&Delivery { headers: &headers, fields: &fields }) else {
            return reply::invalid("the body is of no known format").into();
        };
        let delivery = signature.map(|signature| Seen::of(&target, &signature));
        let is_repeated = delivery.is_some_and(|delivery| self.replays.knows(delivery));
        let (accepted, now) = (self.writer.accepted(&target), Timestamp::now());
        let situation = Situation { sync: &sync, accepted: &accepted, is_repeated, now };
        let outcome = decide(&hint, situation);
        explain(&target, &hint, &outcome);
        let source = Some(hint.source);
        let annotations = outcome.annotations(hint.source, &sync.spec.git.git_ref, now);
        let (git_ref, answer) = match outcome {
            Outcome::Ignore(reason) => return Answer { reply: reply::ignored(&reason), source },
            Outcome::Recheck(git_ref) => (git_ref, writer::Answer::Promised),
            Outcome::Request { git_ref, .. } => (git_ref, writer::Answer::Written),
        };
        let reply = match self.writer.write(target, annotations, answer).await {
            Ok(()) => {
                // Only now: a delivery that could not be written is not a repeated one.
                if let Some(delivery) = delivery {
                    self.replays.remember(delivery);
                }
                reply::accepted(&git_ref)
            }
            Err(writer::Fault::NotFound) => reply::not_found(),
            Err(writer::Fault::Unavailable) => reply::unavailable(),
        };
        Answer { reply, source }
    }
}

fn verdict(keys: &Keys, verifier: Verifier, claim: &Claim, is_open: bool) -> Verdict {
    if is_open {
        return Verdict::Own;
    }
    match claim {
        Claim::Signature(signature) => verifier.verify(signature),
        Claim::Token(token) => verify_token(keys, token),
        Claim::Nothing => Verdict::Refused,
    }
}

/// Reads `/webhook/{namespace}/{name}`. Names are not decoded: no object has a name with `%`.
fn target(path: &str) -> Option<Target> {
    let (namespace, name) = path.strip_prefix("/webhook/")?.split_once('/')?;
    let is_name = |text: &str| (1..=LONGEST_NAME).contains(&text.len());
    let is_target = is_name(namespace) && is_name(name) && !name.contains('/');
    is_target.then(|| Target { namespace: namespace.to_owned(), name: name.to_owned() })
}

fn event_headers(headers: &HeaderMap) -> Vec<Header> {
    let known = EVENT_HEADERS.iter().copied();
    known
        .filter_map(|name| {
            let value = headers.get(name)?.to_str().ok()?.to_owned();
            Some(Header { name, value })
        })
        .collect()
}

/// Why a delivery changed nothing, or what it asks for. What is written is announced by the writer.
fn explain(target: &Target, hint: &Hint, outcome: &Outcome) {
    let Target { namespace, name } = target;
    let source = hint.source.as_str();
    match outcome {
        Outcome::Ignore(reason) => {
            tracing::debug!(namespace, name, source, reason, "ignored a push event");
        }
        Outcome::Recheck(git_ref) | Outcome::Request { git_ref, .. } => {
            tracing::debug!(namespace, name, source, git_ref, "took a push event");
        }
    }
}

fn warn_once() {
    static TOLD: AtomicBool = AtomicBool::new(false);
    if !TOLD.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            "refused a push event: no secret is configured, neither spec.webhook.secretRef of a \
             GatewaySync nor --receiver-hmac-file or --receiver-token-file"
        );
    }
}
