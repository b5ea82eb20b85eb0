//! What a sender hears.

use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{ALLOW, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use serde_json::json;
use stoker_runtime::server::{self, Reply};

/// 202: the ref is asked for.
pub(super) fn accepted(git_ref: &str) -> Reply {
    respond(StatusCode::ACCEPTED, &json!({ "accepted": true, "ref": git_ref }))
}

/// 200: there is nothing to do.
pub(super) fn ignored(reason: &str) -> Reply {
    respond(StatusCode::OK, &json!({ "accepted": false, "reason": reason }))
}

/// 400: the body can't be used.
pub(super) fn invalid(reason: &str) -> Reply {
    failed(StatusCode::BAD_REQUEST, reason)
}

/// 401: the sender is not known. The same for every reason.
pub(super) fn unauthorized() -> Reply {
    let mut reply = failed(StatusCode::UNAUTHORIZED, "the signature or the token is wrong");
    let challenge = HeaderValue::from_static("Bearer");
    reply.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    reply
}

/// 403: the receiver has no secret to verify with.
pub(super) fn no_secret() -> Reply {
    failed(
        StatusCode::FORBIDDEN,
        "no secret is configured: set spec.webhook.secretRef or the operator's receiver secret",
    )
}

/// 404: there is no such GatewaySync, or it takes no push events.
pub(super) fn not_found() -> Reply {
    failed(StatusCode::NOT_FOUND, "there is no such GatewaySync")
}

/// 405: only POST is served.
pub(super) fn wrong_method() -> Reply {
    let mut reply = failed(StatusCode::METHOD_NOT_ALLOWED, "only POST is served here");
    reply.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    reply
}

/// 413: the body is too large.
pub(super) fn too_large() -> Reply {
    failed(StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than 25 MiB")
}

/// 429: too many failed authentications.
pub(super) fn too_many(wait: Duration) -> Reply {
    let mut reply =
        failed(StatusCode::TOO_MANY_REQUESTS, "too many failed authentications, try again later");
    let seconds = wait.as_secs().max(1);
    reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    reply
}

/// 503: the API server is away.
pub(super) fn unavailable() -> Reply {
    let mut reply =
        failed(StatusCode::SERVICE_UNAVAILABLE, "the API server did not answer, try again later");
    reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
    reply
}

fn failed(status: StatusCode, reason: &str) -> Reply {
    respond(status, &json!({ "accepted": false, "reason": reason }))
}

fn respond(status: StatusCode, body: &serde_json::Value) -> Reply {
    server::json(status, format!("{body}\n"))
}
