//! The emergency stop: how soon agents can know of it, those in the middle of a sync first.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{Config, Event, watcher};
use serde_json::json;
use stoker_api::condition::SyncStatus;
use stoker_api::names::{self, Label, PAUSE_CONFIG_MAP};
use stoker_bench::finding::{Bar, Finding, Unit};
use stoker_testkit::object::config_map;

use crate::fleet::{Fleet, Place};
use crate::operator::NAMESPACE;

/// How many GatewaySyncs a small fleet has.
const FEW: usize = 50;
/// One in so many has a gateway in the middle of a sync.
const SYNCING: usize = 10;
const SETTLES: Duration = Duration::from_secs(10);
const WITHIN: Duration = Duration::from_mins(2);

pub(crate) async fn measure(fleet: &mut Fleet<'_>) -> anyhow::Result<Vec<Finding>> {
    let size = fleet.size.syncs;
    let few = FEW.min(size / 2);
    let mut found = Vec::new();
    if fleet.count() <= few {
        fleet.grow(few).await?;
        found.push(stop(fleet, 1000.0).await?);
    }
    fleet.grow(size).await?;
    found.push(stop(fleet, 10_000.0).await?);
    Ok(found)
}

/// Stops the fleet, and lets it go on.
async fn stop(fleet: &Fleet<'_>, limit: f64) -> anyhow::Result<Finding> {
    let _operator = fleet.operator("controller")?;
    let places = fleet.places();
    let syncing: Vec<&Place> = places.iter().step_by(SYNCING).collect();
    fleet.each(syncing.clone(), async |place| begin_sync(fleet, place).await).await?;
    tokio::time::sleep(SETTLES).await;
    let maps: Api<ConfigMap> = Api::namespaced(fleet.client.clone(), NAMESPACE);
    let order = config_map(PAUSE_CONFIG_MAP, [("paused", "true"), ("reason", "measured")]);
    let times = until_told(fleet, true, async || {
        maps.create(&PostParams::default(), &order).await?;
        Ok(())
    })
    .await?;
    let last = |names: &mut dyn Iterator<Item = &String>| {
        names.filter_map(|name| times.get(name)).max().copied().unwrap_or_default()
    };
    let first = last(&mut syncing.iter().map(|place| &place.name));
    let all = last(&mut times.keys());
    until_told(fleet, false, async || {
        maps.delete(PAUSE_CONFIG_MAP, &DeleteParams::default()).await?;
        Ok(())
    })
    .await?;
    fleet
        .each(syncing.clone(), async |place| {
            let metadata = fleet.announced(place).await?;
            fleet.report_all(place, &metadata, fleet.size.gateways).await
        })
        .await?;
    let claim = format!("agents of {} GatewaySyncs are told", places.len());
    let bar = Bar { id: "stop", claim, limit, unit: Unit::Milliseconds };
    let words = format!("the {} in the middle of a sync after {first:.0?}", syncing.len());
    Ok(bar.judge(all.as_secs_f64() * 1000.0, words))
}

/// Reports for one gateway that it is in the middle of a sync.
async fn begin_sync(fleet: &Fleet<'_>, place: &Place) -> anyhow::Result<()> {
    let api: Api<ConfigMap> = Api::namespaced(fleet.client.clone(), &place.namespace);
    let name = names::status_config_map(&place.name, 0);
    let map = api.get(&name).await?;
    let pod = format!("{}-0", place.name);
    let text = map.data.unwrap_or_default().remove(&pod).context("the gateway has reported")?;
    let mut report = stoker_api::contract::report::Report::from_value(&pod, &text)?;
    report.sync_status = SyncStatus::Syncing;
    let patch = Patch::Merge(json!({ "data": { pod: report.to_value() } }));
    api.patch_metadata(&name, &PatchParams::default(), &patch).await?;
    Ok(())
}

/// Acts, and measures until the metadata of each GatewaySync says whether agents are paused.
async fn until_told(
    fleet: &Fleet<'_>,
    paused: bool,
    act: impl AsyncFn() -> anyhow::Result<()>,
) -> anyhow::Result<HashMap<String, Duration>> {
    let api: Api<ConfigMap> = Api::all(fleet.client.clone());
    let config = Config::default().labels(Label::CrName.as_str());
    let mut changes = std::pin::pin!(watcher(api, config).default_backoff());
    let wanted = paused.to_string();
    let mut times = HashMap::new();
    let mut started = None;
    while times.len() < fleet.count() {
        let next = tokio::time::timeout(WITHIN, changes.try_next()).await;
        let next = next.with_context(|| format!("{} know", times.len()))?;
        match next?.context("a watch goes on")? {
            // From here on nothing is missed.
            Event::InitDone => {
                started = Some(Instant::now());
                act().await?;
            }
            Event::Apply(map) => {
                let is_told = map.data.as_ref().and_then(|data| data.get("paused"));
                let sync = map.labels().get(Label::CrName.as_str());
                if let (Some(sync), Some(started)) = (sync, started)
                    && is_told == Some(&wanted)
                {
                    times.entry(sync.clone()).or_insert_with(|| started.elapsed());
                }
            }
            Event::Init | Event::InitApply(_) | Event::Delete(_) => {}
        }
    }
    Ok(times)
}
