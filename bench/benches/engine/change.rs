//! P6 and P7: few changed files among many, against fetch, reset and rsync.

use std::time::Duration;

use stoker_bench::finding::{Bar, Finding};
use stoker_bench::pair::{Pairs, alternate};
use stoker_testkit::git::Oid;

use crate::World;
use crate::plant::Plant;
use crate::reference::{Checkout, Update};
use crate::site::Site;
use crate::world::FILES;

/// How many files a change of many has.
const MANY: usize = 500;
/// The bar for growth compares with a tree of a tenth.
const FEWER: usize = FILES / 10;

/// Our side of an update.
struct Ours {
    /// Everything, from the ref to the files.
    whole: Duration,
    /// With the commit in the store, without the question for the ref.
    engine: Duration,
}

/// Measures one changed file.
pub(crate) fn measure_one(world: &World, plant: &Plant) -> anyhow::Result<Vec<Finding>> {
    let engine = Bar::ratio("P6", format!("1 of {FILES} changed: engine, to rsync"), 1.0 / 25.0);
    let whole = Bar::ratio(
        "P6",
        format!("1 of {FILES} changed: whole run, to fetch + reset + rsync"),
        1.0 / 5.0,
    );
    let mut findings = if world.rsync.is_some() {
        let pairs = updates(world, plant, 1)?;
        vec![
            engine.judge_ratio(pairs.series(|ours| ours.engine, |update| update.copy)),
            whole.judge_ratio(pairs.series(|ours| ours.whole, |all| all.checkout + all.copy)),
        ]
    } else {
        vec![engine.skip(NO_RSYNC), whole.skip(NO_RSYNC)]
    };
    findings.push(growth(world, plant)?);
    Ok(findings)
}

/// Measures many changed files.
pub(crate) fn measure_many(world: &World, plant: &Plant) -> anyhow::Result<Vec<Finding>> {
    let bar = Bar::ratio("P7", format!("{MANY} of {FILES} changed: engine, to rsync"), 0.3);
    if world.rsync.is_none() {
        return Ok(vec![bar.skip(NO_RSYNC)]);
    }
    let pairs = updates(world, plant, MANY)?;
    Ok(vec![bar.judge_ratio(pairs.series(|ours| ours.engine, |update| update.copy))])
}

const NO_RSYNC: &str = "rsync is not installed";

fn updates(world: &World, plant: &Plant, files: usize) -> anyhow::Result<Pairs<Ours, Update>> {
    let commits = plant.changes(world.turns + 1, files)?;
    let (whole, engine) = (Site::new(world, plant, "whole"), Site::new(world, plant, "engine"));
    let checkout = Checkout::new(world, plant);
    plant.publish(&commits[0])?;
    whole.prepare()?;
    engine.prepare()?;
    checkout.prepare()?;
    let ours = |commit: &Oid| {
        plant.publish(commit)?;
        let whole = whole.change(files)?.whole;
        let engine = engine.change_fetched(files)?.without_query();
        Ok(Ours { whole, engine })
    };
    let reference = |commit: &Oid| {
        plant.publish(commit)?;
        checkout.update()
    };
    alternate(world.turns, |turn| ours(&commits[turn + 1]), |turn| reference(&commits[turn + 1]))
}

/// The cost must follow the change, not the tree.
fn growth(world: &World, large: &Plant) -> anyhow::Result<Finding> {
    let small = world.plant("small", FEWER)?;
    let claim = format!("1 changed: engine among {FILES}, to among {FEWER}");
    let commits = (large.changes(world.turns + 1, 1)?, small.changes(world.turns + 1, 1)?);
    let sites = (Site::new(world, large, "engine"), Site::new(world, &small, "small"));
    large.publish(&commits.0[0])?;
    sites.0.prepare()?;
    small.publish(&commits.1[0])?;
    sites.1.prepare()?;
    let step = |plant: &Plant, site: &Site<'_>, commit: &Oid| {
        plant.publish(commit)?;
        Ok(site.change_fetched(1)?.without_query())
    };
    let among_many = |turn: usize| step(large, &sites.0, &commits.0[turn]);
    let among_few = |turn: usize| step(&small, &sites.1, &commits.1[turn]);
    let pairs = alternate(world.turns, |turn| among_many(turn + 1), |turn| among_few(turn + 1))?;
    Ok(Bar::ratio("P6", claim, 1.5).judge_ratio(pairs.durations()))
}
