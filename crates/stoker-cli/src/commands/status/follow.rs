//! The same, redrawn when something changes.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use stoker_api::GatewaySync;
use stoker_core::view::SyncRow;

use super::draw::{self, Style};
use crate::cli::Context;
use crate::cluster::Cluster;
use crate::failure::Failure;

/// Changes within this time are drawn at once.
const SETTLE: Duration = Duration::from_millis(200);
/// How often ages are drawn again.
const TICK: Duration = Duration::from_secs(10);

type Rows = BTreeMap<(String, String), SyncRow>;

/// Draws the table, and draws it again on every change. Returns only with a failure.
pub(super) async fn run(
    cluster: &Cluster,
    syncs: &Api<GatewaySync>,
    name: Option<&str>,
    style: Style,
    context: &Context,
) -> Result<(), Failure> {
    if let Some(name) = name {
        cluster.sync(name).await?;
    }
    let field = name.map(|name| format!("metadata.name={name}"));
    loop {
        let list = ListParams { field_selector: field.clone(), ..ListParams::default() };
        let listed = cluster.ask("list GatewaySyncs", syncs.list(&list)).await?;
        let version = listed.metadata.resource_version.unwrap_or_default();
        let mut rows: Rows = listed.items.iter().map(keyed).collect();
        let watch = WatchParams { field_selector: field.clone(), ..WatchParams::default() };
        let watched = syncs.watch(&watch, &version);
        let mut events = cluster.ask("watch GatewaySyncs", watched).await?.boxed();
        loop {
            let shown: Vec<SyncRow> = rows.values().cloned().collect();
            let text = draw::table(&shown, style, Timestamp::now());
            context.console.redraw(&shown, &text);
            let Ok(event) = tokio::time::timeout(TICK, events.try_next()).await else { continue };
            let Ok(Some(event)) = event else { break };
            if !take(&mut rows, event) {
                break;
            }
            while let Ok(Ok(Some(event))) = tokio::time::timeout(SETTLE, events.try_next()).await {
                take(&mut rows, event);
            }
        }
    }
}

fn keyed(sync: &GatewaySync) -> ((String, String), SyncRow) {
    ((sync.namespace().unwrap_or_default(), sync.name_any()), SyncRow::of(sync))
}

/// Takes a change in; false where the watch has to begin again.
fn take(rows: &mut Rows, event: WatchEvent<GatewaySync>) -> bool {
    match event {
        WatchEvent::Added(sync) | WatchEvent::Modified(sync) => {
            let (key, row) = keyed(&sync);
            rows.insert(key, row);
        }
        WatchEvent::Deleted(sync) => {
            rows.remove(&keyed(&sync).0);
        }
        WatchEvent::Bookmark(_) => {}
        WatchEvent::Error(_) => return false,
    }
    true
}
