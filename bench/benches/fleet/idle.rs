//! What the operator takes while there is next to nothing to do.

use std::time::Duration;

use stoker_bench::finding::{Bar, Finding, Unit};

use crate::fleet::Fleet;

const FEW: usize = 50;
const LIMIT: f64 = 20.0;
const SETTLES: Duration = Duration::from_secs(10);

pub(crate) async fn measure(fleet: &mut Fleet<'_>) -> anyhow::Result<Vec<Finding>> {
    let mut found = vec![resident(fleet, 0).await?];
    fleet.grow(FEW.min(fleet.size.syncs)).await?;
    found.push(resident(fleet, FEW.min(fleet.size.syncs)).await?);
    Ok(found)
}

async fn resident(fleet: &Fleet<'_>, syncs: usize) -> anyhow::Result<Finding> {
    let operator = fleet.operator("all")?;
    tokio::time::sleep(SETTLES).await;
    let (now, peak) = operator.memory()?;
    let claim = format!("resident with {syncs} GatewaySyncs, --mode=all");
    let bar = Bar { id: "P19", claim, limit: LIMIT, unit: Unit::Mebibytes };
    Ok(bar.judge(now, format!("peak {peak:.1} MiB")))
}
