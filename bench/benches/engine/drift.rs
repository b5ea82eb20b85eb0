//! P8: looking at all files when nothing changed, against `git status`.

use stoker_bench::finding::{Bar, Finding};
use stoker_bench::pair::alternate;

use crate::World;
use crate::plant::Plant;
use crate::reference::Checkout;
use crate::site::Site;
use crate::world::FILES;

/// Measures it.
pub(crate) fn measure(world: &World, plant: &Plant) -> anyhow::Result<Vec<Finding>> {
    let site = Site::new(world, plant, "whole");
    let checkout = Checkout::new(world, plant);
    site.prepare()?;
    checkout.prepare()?;
    // Git trusts a file only if it is older than its index: the first status puts that right.
    checkout.status()?;
    let ours = |_| site.unchanged(&[]).map(|run| run.without_query());
    let pairs = alternate(world.turns, ours, |_| checkout.status())?;
    let claim = format!("drift check of {FILES} files, to git status");
    Ok(vec![Bar::ratio("P8", claim, 0.25).judge_ratio(pairs.durations())])
}
