//! Failures in the words of the API server: `Status` objects, plain and inside a watch.

use hyper::body::Bytes;
use hyper::{Response, StatusCode, header};
use serde_json::{Value, json};

use super::request::{ApiRequest, Verb};

/// Builds the answer that the API server would give with this code.
pub(super) fn response(code: u16, retry_after: Option<u32>, about: &ApiRequest) -> Response<Bytes> {
    let mut status = status(code, about);
    if let Some(seconds) = retry_after {
        status["details"]["retryAfterSeconds"] = json!(seconds);
    }
    let mut response = Response::new(Bytes::from(status.to_string()));
    *response.status_mut() =
        StatusCode::from_u16(code).expect("a scripted status is a code that HTTP knows");
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    if let Some(seconds) = retry_after {
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// Builds the event with which a watch says that its resource version is too old.
pub(super) fn gone_event(about: &ApiRequest) -> Value {
    json!({ "type": "ERROR", "object": status(410, about) })
}

fn status(code: u16, about: &ApiRequest) -> Value {
    let name = about.name.as_deref().unwrap_or_default();
    let kind = about.resource.split('/').next().unwrap_or_default();
    json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": format!("scripted fault: {about} is answered with {code}"),
        "reason": reason(code, about.verb),
        "details": { "name": name, "group": about.group, "kind": kind },
        "code": code,
    })
}

fn reason(code: u16, verb: Verb) -> &'static str {
    match (code, verb) {
        (400, _) => "BadRequest",
        (401, _) => "Unauthorized",
        (403, _) => "Forbidden",
        (404, _) => "NotFound",
        (409, Verb::Create) => "AlreadyExists",
        (409, _) => "Conflict",
        (410, _) => "Expired",
        (413, _) => "RequestEntityTooLarge",
        (422, _) => "Invalid",
        (429, _) => "TooManyRequests",
        (500, _) => "InternalError",
        (503, _) => "ServiceUnavailable",
        (504, _) => "Timeout",
        _ => "Unknown",
    }
}
