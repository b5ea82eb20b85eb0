//! P18 and P19: a controller that starts again, and what it needs for that.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use stoker_api::names;
use stoker_bench::finding::{Bar, Finding, Unit};

use crate::fleet::{Fleet, synced};

const LIMIT: Duration = Duration::from_secs(15);

struct Restart {
    took: Duration,
    peak: f64,
}

pub(crate) async fn measure(fleet: &mut Fleet<'_>) -> anyhow::Result<Vec<Finding>> {
    let size = fleet.size;
    fleet.grow_foreign(size.foreign).await?;
    fleet.grow(size.syncs / 2).await?;
    let half = restart(fleet).await?;
    fleet.grow(size.syncs).await?;
    let whole = restart(fleet).await?;
    fleet.grow_foreign((size.foreign.0 * 2, size.foreign.1 * 2)).await?;
    let doubled = restart(fleet).await?;
    let claim = format!("restart with {} x {} gateways to all current", size.syncs, size.gateways);
    let bar = |id, claim: String, limit, unit| Bar { id, claim, limit, unit };
    let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
    let (pods, secrets) = size.foreign;
    Ok(vec![
        bar("P18", claim, milliseconds(LIMIT), Unit::Milliseconds)
            .judge(milliseconds(whole.took), format!("half of them {:.1?}", half.took)),
        bar("P18", "time of all by that of half".to_owned(), 2.5, Unit::Ratio).judge(
            whole.took.as_secs_f64() / half.took.as_secs_f64(),
            format!("{:.1?} to {:.1?}", whole.took, half.took),
        ),
        bar("P19", "peak at that size".to_owned(), 64.0, Unit::Mebibytes)
            .judge(whole.peak, format!("{pods} pods, {secrets} Secrets of others")),
        bar("P19", "more with twice as many of others".to_owned(), 5.0, Unit::Mebibytes)
            .judge(doubled.peak - whole.peak, format!("{:.1} MiB", doubled.peak)),
    ])
}

/// While no controller runs, one gateway of each GatewaySync loses its report; measures until every
/// status says so, and makes it good again.
async fn restart(fleet: &Fleet<'_>) -> anyhow::Result<Restart> {
    let gateways = u32::try_from(fleet.size.gateways)?;
    fleet
        .each(fleet.places(), async |place| {
            let api: Api<ConfigMap> = Api::namespaced(fleet.client.clone(), &place.namespace);
            let lost = json!({ "data": { format!("{}-0", place.name): null } });
            let name = names::status_config_map(&place.name, 0);
            api.patch_metadata(&name, &PatchParams::default(), &Patch::Merge(lost)).await?;
            Ok(())
        })
        .await?;
    let operator = fleet.operator("controller")?;
    let took = fleet.until_all(|sync| synced(sync) == Some(gateways - 1)).await?;
    let (_, peak) = operator.memory()?;
    fleet
        .each(fleet.places(), async |place| {
            let metadata = fleet.announced(&place).await?;
            fleet.report_all(&place, &metadata, fleet.size.gateways).await
        })
        .await?;
    fleet.until_all(|sync| synced(sync) == Some(gateways)).await?;
    Ok(Restart { took, peak })
}
