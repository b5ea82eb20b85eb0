//! The gateway about itself: state, version, modules, redundancy, restart.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::gateway::enter_running;
use crate::options::Api;
use crate::reply::{self, Reply, parameter};
use crate::route::Call;
use crate::world::{Shared, State};

const VERSION: &str = "8.3.6 (b2026040112)";

/// `{"state":"RUNNING"}`, without a token.
pub(crate) fn status_ping(state: State) -> Reply {
    reply::json(&json!({"state": context_status(state)}))
}

/// `key=value;`, without a token.
pub(crate) fn gwinfo(state: State) -> Reply {
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

/// Answers the routes of this page, if it is one of them.
pub(crate) fn answer(call: &Call, parts: &[&str]) -> Option<Reply> {
    let known = match parts {
        ["gateway-info"] => gateway_info(),
        ["overview"] => overview(&call.shared),
        ["redundancy"] => json!({"role": "Independent", "state": "Good", "activeStatus": "Active"}),
        ["redundancy", "config"] => json!({"role": "Independent"}),
        _ => return None,
    };
    Some(reply::json(&known))
}

/// Goes through STARTING to RUNNING, if it is confirmed.
pub(crate) fn restart(call: &Call) -> Reply {
    if parameter(&call.query, "confirm") != Some("true") {
        return reply::html(400);
    }
    let shared = Arc::clone(&call.shared);
    shared.change(|world| world.state = State::Starting);
    tokio::spawn(async move {
        tokio::time::sleep(shared.options.restart_duration).await;
        let is_starting = shared.world().state == State::Starting;
        if is_starting {
            let started = tokio::task::spawn_blocking(move || enter_running(&shared));
            drop(started.await);
        }
    });
    reply::json(&json!({}))
}

fn context_status(state: State) -> &'static str {
    match state {
        State::Running => "RUNNING",
        State::Uncommissioned => "NEEDS_COMMISSIONING",
        State::Starting | State::Down => "STARTING",
    }
}

fn gateway_info() -> Value {
    json!({
        "name": "stand-in", "edition": "standard", "hostname": "localhost", "port": 8088,
        "ignitionVersion": VERSION, "deploymentMode": "", "redundancyRole": "Independent",
        "license": {"mode": "Trial"}, "timeZone": "Etc/UTC",
    })
}

fn overview(shared: &Shared) -> Value {
    let uptime = u64::try_from(shared.started.elapsed().as_millis()).unwrap_or(u64::MAX);
    json!({
        "version": VERSION, "uptime": uptime, "cpu": 0.01,
        "memory": {"used": 512, "max": 2048}, "disk": {"free": 1024},
        "license": {"state": "Trial", "trialRemaining": 7200},
        "redundancy": {"role": "Independent"},
        "api": if shared.options.api == Api::V83 { "v1" } else { "" },
    })
}
