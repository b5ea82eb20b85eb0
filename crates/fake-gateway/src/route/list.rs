//! Everything that is a list: projects, resources, designers, sessions, modules, tasks, logs.

use serde_json::{Value, json};

use crate::load::Snapshot;
use crate::options::Items;
use crate::reply::{self, Reply, parameter};
use crate::route::Call;
use crate::world::{Half, LogEntry};

const HEALTHY: [&str; 3] =
    ["com.inductiveautomation.perspective", "com.inductiveautomation.vision", "ignition"];
const LEVELS: [&str; 5] = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR"];

/// Answers the routes of this page, if it is one of them.
pub(crate) fn answer(call: &Call, parts: &[&str]) -> Option<Reply> {
    let query = &call.query;
    let plain = |items: Vec<Value>| Some(reply::list(items, query, &[]));
    let world = call.shared.world();
    let projects = &world.half(Half::Projects).snapshot;
    match parts {
        ["projects", "names"] => plain(project_names(projects, call.shared.options.items)),
        ["projects", "list"] => plain(projects.projects.iter().map(project).collect()),
        ["projects", "find", name] => {
            Some(found(projects.projects.get_key_value(*name).map(project)))
        }
        ["resources", "names", module, kind] => plain(
            resources(&world.half(Half::Config).snapshot, module, kind)
                .map(|(name, _)| json!({"name": name, "enabled": true, "modes": []}))
                .collect(),
        ),
        ["resources", "list", module, kind] => plain(
            resources(&world.half(Half::Config).snapshot, module, kind).map(resource).collect(),
        ),
        ["resources", "find", module, kind, wanted] => Some(found(
            resources(&world.half(Half::Config).snapshot, module, kind)
                .find(|(name, _)| name == wanted)
                .map(resource),
        )),
        ["designers"] => plain(world.designers.values().cloned().collect()),
        ["designer", id] => Some(found(world.designers.get(*id).cloned())),
        ["modules", "healthy"] => plain(HEALTHY.map(|id| json!({"id": id})).to_vec()),
        ["modules", "quarantined"] => {
            plain(world.quarantined.iter().map(|id| json!({"id": id})).collect())
        }
        ["projects", "parents"] | ["restart-tasks", "pending"] | ["overview", "problems"] => {
            plain(Vec::new())
        }
        ["logs"] => Some(logs(&world.logs, query)),
        _ => None,
    }
}

/// Lists Perspective sessions; the route ends in a slash.
pub(crate) fn sessions(call: &Call) -> Reply {
    reply::list(call.shared.world().sessions.values().cloned().collect(), &call.query, &[])
}

/// Removes a designer session that is dormant; one in use stays.
pub(crate) fn prune_designer(call: &Call, id: &str) -> Reply {
    call.shared.change(|world| match world.designers.get(id) {
        None => reply::html(404),
        Some(designer) if designer["dormant"] != true => reply::html(409),
        Some(_) => {
            world.designers.remove(id);
            reply::empty(204)
        }
    })
}

fn found(thing: Option<Value>) -> Reply {
    thing.map_or_else(|| reply::html(404), |thing| reply::json(&thing))
}

fn project_names(snapshot: &Snapshot, items: Items) -> Vec<Value> {
    let names = snapshot.projects.keys();
    match items {
        Items::Strings => names.map(|name| json!(name)).collect(),
        Items::Objects => names.map(|name| json!({"name": name, "enabled": true})).collect(),
    }
}

fn project((name, json): (&String, &Value)) -> Value {
    json!({
        "name": name, "title": json["title"], "parent": json["parent"],
        "enabled": json["enabled"], "inheritable": json["inheritable"],
    })
}

/// `config/resources/<collection>/<module>/<type>/<name>`, whatever the collection.
fn resources<'a>(
    snapshot: &'a Snapshot,
    module: &'a str,
    kind: &'a str,
) -> impl Iterator<Item = (&'a str, &'a Value)> {
    snapshot.resources.iter().filter_map(move |(directory, json)| {
        let parts: Vec<&str> = directory.split('/').collect();
        match parts.as_slice() {
            ["config", "resources", _, in_module, of_kind, name]
                if *in_module == module && *of_kind == kind =>
            {
                Some((*name, json))
            }
            _ => None,
        }
    })
}

fn resource((name, json): (&str, &Value)) -> Value {
    let signature = &json["attributes"]["lastModificationSignature"];
    json!({"name": name, "enabled": true, "signature": signature})
}

fn logs(entries: &[LogEntry], query: &[(String, String)]) -> Reply {
    let rank = |level: &str| LEVELS.iter().position(|known| *known == level);
    let least = parameter(query, "minLevel").and_then(rank).unwrap_or(0);
    let from = parameter(query, "startTime").and_then(|time| time.parse().ok()).unwrap_or(i64::MIN);
    let items = entries
        .iter()
        .filter(|entry| entry.timestamp >= from && rank(entry.level) >= Some(least))
        .map(|entry| {
            let LogEntry { timestamp, level, message } = entry;
            json!({"timestamp": timestamp, "level": level, "logger": "Scan", "message": message})
        })
        .collect();
    reply::list(items, query, &["minLevel", "startTime"])
}
