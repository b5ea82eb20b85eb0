//! P8: looking at all files when nothing changed, against `git status`.

use stoker_bench::finding::{Bar, Finding};
use stoker_bench::pair::alternate;
use stoker_bench::program::run;

use crate::World;
use crate::plant::Plant;
use crate::reference::{Checkout, question};
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
    // We look while git waits for the server, and both may hinder each other: so the question that
    // is taken off is one that had the machine to itself.
    let ours = |_| {
        let query = run(&mut question(world, plant))?.took;
        Ok(site.unchanged(&[])?.whole.saturating_sub(query))
    };
    let pairs = alternate(world.turns, ours, |_| checkout.status())?;
    let claim = format!("drift check of {FILES} files, to git status");
    Ok(vec![Bar::ratio("P8", claim, 0.25).judge_ratio(pairs.durations())])
}
