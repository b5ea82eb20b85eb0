//! From a request to its answer, in the order in which a gateway decides: state, generation, token,
//! route.

mod scan;

use std::sync::Arc;
use std::sync::mpsc::Sender;

use hyper::Method;
use serde_json::{Value, json};

use crate::auth::{self, Channel, Permission, Refusal};
use crate::options::{Api, Items};
use crate::reply::{self, Reply};
use crate::scan::Requested;
use crate::world::{Half, Shared, State, World};

const VERSION: &str = "8.3.6 (b2026040112)";

pub(crate) struct Call {
    pub(crate) shared: Arc<Shared>,
    pub(crate) scanners: Scanners,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) body: Vec<u8>,
    pub(crate) presented: Option<String>,
    pub(crate) channel: Channel,
}

/// The way to the thread of each half, by its number.
pub(crate) type Scanners = [Sender<Requested>; 2];

/// Answers what a healthy gateway of this state and generation would.
pub(crate) async fn answer(call: &Call) -> Reply {
    let state = call.shared.world().state;
    if call.method == Method::GET && call.path == "/system/gwinfo" {
        return gwinfo(state);
    }
    if state == State::Uncommissioned {
        return reply::redirect("/welcome");
    }
    if call.method == Method::GET && call.path == "/StatusPing" {
        return reply::json(&json!({"state": context_status(state)}));
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
        Err(Refusal::Unauthorized) => reply::html(401),
        Err(Refusal::Forbidden) => reply::html(403),
    }
}

async fn routed(call: &Call, route: &str, holder: &str) -> Reply {
    let Some(route) = route.strip_prefix("api/v1/") else { return reply::html(404) };
    let parts: Vec<&str> = route.split('/').collect();
    match (call.method.as_str(), parts.as_slice()) {
        (_, ["scan", half]) => scan::scan(call, Half::parse(half)),
        (_, ["scan-lock", _]) if call.shared.options.api == Api::WithoutScanLock => {
            reply::html(404)
        }
        (_, ["scan-lock", half]) => scan::lock(call, Half::parse(half), holder).await,
        ("GET", ["projects", "names"]) => {
            let items = call.shared.options.items;
            reply::list(project_names(&call.shared.world(), items), &call.query)
        }
        ("GET", ["designers"]) => {
            reply::list(call.shared.world().designers.values().cloned().collect(), &call.query)
        }
        ("GET", _) => reply::html(404),
        _ => reply::html(405),
    }
}

fn project_names(world: &World, items: Items) -> Vec<Value> {
    let names = world.half(Half::Projects).snapshot.projects.iter();
    match items {
        Items::Strings => names.map(|name| json!(name)).collect(),
        Items::Objects => names.map(|name| json!({"name": name, "enabled": true})).collect(),
    }
}

/// `key=value;`, without a token.
fn gwinfo(state: State) -> Reply {
    let status = context_status(state);
    reply::text(
        200,
        "text/plain",
        format!(
            "ContextStatus={status};Version={VERSION};PlatformName=Ignition-stand-in;\
             RedundantState=Good;RedundantNodeActiveStatus=Active;"
        ),
    )
}

fn context_status(state: State) -> &'static str {
    match state {
        State::Running => "RUNNING",
        State::Uncommissioned => "NEEDS_COMMISSIONING",
        State::Starting | State::Down => "STARTING",
    }
}
