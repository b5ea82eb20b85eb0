//! P4: the first sync, against a shallow clone.

use stoker_bench::finding::{Bar, Finding};
use stoker_bench::pair::alternate;

use crate::World;
use crate::plant::Plant;
use crate::reference::Checkout;
use crate::site::Site;
use crate::world::FILES;

/// Measures it.
pub(crate) fn measure(world: &World, plant: &Plant) -> anyhow::Result<Vec<Finding>> {
    let site = Site::new(world, plant, "first");
    let checkout = Checkout::new(world, plant);
    let ours = |_| {
        site.clear()?;
        site.first().map(|run| run.whole)
    };
    let pairs = alternate(world.turns, ours, |_| checkout.clone_anew())?;
    site.clear()?;
    let claim = format!("first sync of {FILES} files, to git clone --depth 1");
    Ok(vec![Bar::ratio("P4", claim, 1.0).judge_ratio(pairs.durations())])
}
