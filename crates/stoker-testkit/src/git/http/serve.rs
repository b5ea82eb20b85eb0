//! The way of a request: log, decision, answer.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract;
use axum::http::{HeaderValue, Response, StatusCode, header};
use futures::TryStreamExt;

use super::log::Entry;
use super::policy::{Decision, Injection};
use super::{State, cgi};

pub(super) fn router(state: Arc<State>) -> Router {
    Router::new().fallback(answer).with_state(state)
}

async fn answer(
    extract::State(state): extract::State<Arc<State>>,
    request: extract::Request,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    let (decision, credentials) = {
        let mut policy = state.policy();
        (policy.decide(&head.uri, &head.headers), policy.auth.judge(&head.headers))
    };
    let entry = state.log.begin(&head, credentials);
    let incoming = Arc::clone(&entry);
    let body = counted(body, move |bytes| incoming.received(bytes));
    let response = match decision {
        Decision::Inject(injection) => injected(&injection),
        Decision::Redirect { status, location } => {
            with_header(plain(status), header::LOCATION, &location)
        }
        Decision::Unauthorized { scheme } => {
            let challenge = format!("{scheme} realm=\"stoker test\"");
            with_header(plain(401), header::WWW_AUTHENTICATE, &challenge)
        }
        Decision::NotFound => plain(404),
        Decision::Backend(backend) => cgi::answer(&backend, &head, body).await.unwrap_or_else(
            // A test that sees this status must be able to see the reason, too.
            |error| {
                Response::builder().status(500).body(error.to_string().into()).unwrap_or_default()
            },
        ),
    };
    finished(response, entry)
}

fn finished(response: Response<Body>, entry: Arc<Entry>) -> Response<Body> {
    entry.answered(response.status().as_u16());
    response.map(|body| counted(body, move |bytes| entry.sent(bytes)))
}

fn counted(body: Body, count: impl Fn(usize) + Send + 'static) -> Body {
    let count = move |chunk: &Bytes| count(chunk.len());
    Body::from_stream(body.into_data_stream().inspect_ok(count))
}

fn injected(injection: &Injection) -> Response<Body> {
    let mut response = plain(injection.status);
    if injection.status == 401 {
        response = with_header(response, header::WWW_AUTHENTICATE, "Basic realm=\"stoker test\"");
    }
    if let Some(html) = &injection.html {
        response = with_header(response, header::CONTENT_TYPE, "text/html; charset=utf-8");
        *response.body_mut() = html.clone().into();
    }
    response
}

fn plain(status: u16) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    response
}

fn with_header(
    mut response: Response<Body>,
    name: header::HeaderName,
    value: &str,
) -> Response<Body> {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
    response
}
