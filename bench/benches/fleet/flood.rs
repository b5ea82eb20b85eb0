//! P22: very many gateways of one GatewaySync report at once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::json;
use stoker_api::GatewaySync;
use stoker_api::names;
use stoker_bench::finding::{Bar, Finding, Unit};
use stoker_testkit::object::gateway_sync;
use stoker_testkit::proxy::{FaultProxy, Match, Verb};

use crate::fleet::{Fleet, Place, report, synced};

const WITHIN: Duration = Duration::from_mins(2);

pub(crate) async fn measure(fleet: &Fleet<'_>) -> anyhow::Result<Vec<Finding>> {
    let place = Place { namespace: "flood".to_owned(), name: "big".to_owned() };
    fleet.namespace(&place.namespace).await?;
    let sync = gateway_sync(&place.name).namespace(&place.namespace);
    let sync = sync.repo(&fleet.server.url("plant-0")).mapping("projects", "projects");
    fleet.each(0..fleet.size.flood, async |number| fleet.pod(&place, number).await).await?;
    fleet.create(&sync.polling("1h").build()).await?;
    let proxy = FaultProxy::start(fleet.cluster.config().await)?;
    let _operator = fleet.operator_behind(&proxy.kubeconfig())?;
    let metadata = fleet.announced(&place).await?;
    let all = u32::try_from(fleet.size.flood)?;
    let syncs: Api<GatewaySync> = Api::namespaced(fleet.client.clone(), &place.namespace);
    until(&syncs, &place, |sync| {
        sync.status
            .as_ref()
            .and_then(|it| it.gateways)
            .is_some_and(|it| u32::try_from(it.discovered) == Ok(all))
    })
    .await?;
    let pods: Api<Pod> = Api::namespaced(fleet.client.clone(), &place.namespace);
    let pods = pods.list_metadata(&ListParams::default()).await?;
    let uids: BTreeMap<String, String> =
        pods.iter().map(|pod| (pod.name_any(), pod.uid().unwrap_or_default())).collect();
    let maps: Api<ConfigMap> = Api::namespaced(fleet.client.clone(), &place.namespace);
    let requests = AtomicU32::new(0);
    proxy.forget();
    let started = Instant::now();
    fleet
        .each(&uids, async |(pod, uid)| {
            let shard = names::status_shard(pod, metadata.status_shards);
            let name = names::status_config_map(&place.name, shard);
            let value = report(pod, uid, &metadata)?.to_value();
            let patch = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { pod: value } });
            let manager = PatchParams::apply(&format!("stoker-agent-{pod}")).force();
            for _ in 0..10 {
                requests.fetch_add(1, Ordering::Relaxed);
                if maps.patch_metadata(&name, &manager, &Patch::Apply(&patch)).await.is_ok() {
                    return Ok(());
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            anyhow::bail!("{pod} can't report")
        })
        .await?;
    let reported = started.elapsed();
    until(&syncs, &place, |sync| synced(sync) == Some(all)).await?;
    let settled = started.elapsed();
    let status = Match::verb(Verb::Patch).resource("gatewaysyncs/status").name(&place.name);
    let writes = f64::from(u32::try_from(proxy.count(&status))?);
    fleet.clear(&place.namespace).await?;
    let bar = |claim: &str, limit, unit| Bar { id: "P22", claim: claim.to_owned(), limit, unit };
    Ok(vec![
        bar("requests per report", 1.2, Unit::Ratio).judge(
            f64::from(requests.into_inner()) / f64::from(all),
            format!("{all} reports in {reported:.1?}, none lost, settled after {settled:.1?}"),
        ),
        bar("status writes for all of them", 10.0, Unit::Count)
            .judge(writes, format!("{all} reports")),
    ])
}

async fn until(
    api: &Api<GatewaySync>,
    place: &Place,
    holds: impl Fn(&GatewaySync) -> bool,
) -> anyhow::Result<()> {
    let started = Instant::now();
    while !holds(&api.get(&place.name).await?) {
        let status = || api.get(&place.name);
        if started.elapsed() > WITHIN {
            anyhow::bail!(
                "in vain: {:?}",
                status().await?.status.context("it has a status")?.gateways
            );
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}
