//! From a request to its answer, in the order in which a gateway decides: state, generation, token,
//! route.

mod list;
mod scan;
mod service;

use std::sync::Arc;
use std::sync::mpsc::Sender;

use hyper::Method;

use crate::auth::{self, Channel, Permission, Refusal};
use crate::options::Api;
use crate::reply::{self, Reply};
use crate::scan::Requested;
use crate::world::{Half, Shared, State};

/// A request with everything that an answer depends on.
pub(crate) struct Call {
    pub(crate) shared: Arc<Shared>,
    pub(crate) scanners: Scanners,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) presented: Option<String>,
    pub(crate) channel: Channel,
}

/// The way to the thread of each half.
#[derive(Clone)]
pub(crate) struct Scanners {
    pub(crate) projects: Sender<Requested>,
    pub(crate) config: Sender<Requested>,
}

impl Scanners {
    pub(crate) fn of(&self, half: Half) -> &Sender<Requested> {
        match half {
            Half::Projects => &self.projects,
            Half::Config => &self.config,
        }
    }
}

/// Answers what a healthy gateway of this state and generation would.
pub(crate) async fn answer(call: &Call) -> Reply {
    let state = call.shared.world().state;
    if call.method == Method::GET && call.path == "/system/gwinfo" {
        return service::gwinfo(state);
    }
    if state == State::Uncommissioned {
        return reply::redirect("/welcome");
    }
    if call.method == Method::GET && call.path == "/StatusPing" {
        return service::status_ping(state);
    }
    if state != State::Running {
        return reply::html(503);
    }
    match call.path.strip_prefix("/data/") {
        Some(_) if call.shared.options.api == Api::V81 => reply::html(404),
        Some(route) => guarded(call, route).await,
        None => reply::html(404),
    }
}

async fn guarded(call: &Call, route: &str) -> Reply {
    let permission = if call.method == Method::GET { Permission::Read } else { Permission::Write };
    let tokens = call.shared.world().tokens.clone();
    match auth::admit(&tokens, call.presented.as_deref(), permission, call.channel) {
        Ok(holder) => routed(call, route, &holder).await,
        Err(Refusal::Unauthorized) if call.shared.options.empty_401 => reply::empty(401),
        Err(Refusal::Unauthorized) => reply::html(401),
        Err(Refusal::Forbidden) => reply::html(403),
    }
}

async fn routed(call: &Call, route: &str, holder: &str) -> Reply {
    // The trailing slash is part of this route and of no other.
    if route == "perspective/api/v1/sessions/" && call.method == Method::GET {
        return list::sessions(call);
    }
    let Some(route) = route.strip_prefix("api/v1/") else { return reply::html(404) };
    let parts: Vec<String> = route.split('/').map(decode).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match (call.method.as_str(), parts.as_slice()) {
        (_, ["scan", half]) => scan::scan(call, Half::parse(half)),
        (_, ["scan-lock", _]) if call.shared.options.api == Api::WithoutScanLock => {
            reply::html(404)
        }
        (_, ["scan-lock", half]) => scan::lock(call, Half::parse(half), holder).await,
        ("DELETE", ["designer", id]) => list::prune_designer(call, id),
        ("POST", ["restart-tasks", "restart"]) => service::restart(call),
        ("GET", parts) => list::answer(call, parts)
            .or_else(|| service::answer(call, parts))
            .unwrap_or_else(|| reply::html(404)),
        _ => reply::html(405),
    }
}

/// Decodes `%41` and `+` as a query and a path segment carry them.
pub(crate) fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = code.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (bytes[at], code) {
            (b'%', Some(byte)) => {
                decoded.push(byte);
                at += 3;
            }
            (byte, _) => {
                decoded.push(if byte == b'+' { b' ' } else { byte });
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn escapes_are_decoded_and_broken_ones_left_alone() {
        let cases =
            [("a%20b", "a b"), ("a+b", "a b"), ("%zz", "%zz"), ("100%", "100%"), ("%", "%")];
        for (text, decoded) in cases {
            assert_eq!(decode(text), decoded, "{text}");
        }
    }
}
