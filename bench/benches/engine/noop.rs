//! A run with nothing to do costs the question for the ref, and hardly more.

use stoker_bench::finding::{Bar, Finding, Unit, seconds};
use stoker_bench::pair::alternate;
use stoker_bench::program::{Program, run};
use stoker_bench::trace::Trace;

use crate::World;
use crate::plant::Plant;
use crate::reference::question;
use crate::site::Site;

const ID: &str = "no-op";
/// These take milliseconds: more turns cost little and say more.
const TURNS_EACH: usize = 5;

/// Measures it.
pub(crate) fn measure(world: &World, plant: &Plant) -> anyhow::Result<Vec<Finding>> {
    let site = Site::new(world, plant, "whole");
    site.prepare()?;
    let ours = |_| site.unchanged(&["--no-drift"]).map(|run| run.whole);
    let reference = |_| Ok(run(&mut question(world, plant))?.took);
    let series = alternate(world.turns * TURNS_EACH, ours, reference)?.durations();
    let (ours, theirs) = series.medians();
    let measured = format!("{} to {}", seconds(ours), seconds(theirs));
    let claim = "sync --no-drift, beyond git ls-remote".to_owned();
    let bar = Bar { id: ID, claim, limit: 15.0, unit: Unit::Milliseconds };
    let difference = series.difference() * 1e3;
    let time = Finding {
        ours: series.ours,
        reference: series.reference,
        ..bar.judge(difference, measured)
    };
    Ok(vec![time, processes(world, plant, &site)?])
}

/// What git starts to ask a question is git's own; we start git, and nothing else.
fn processes(world: &World, plant: &Plant, site: &Site<'_>) -> anyhow::Result<Finding> {
    let claim = "processes started by sync --no-drift itself".to_owned();
    let bar = Bar { id: ID, claim, limit: 1.0, unit: Unit::Count };
    if Program::find("strace").is_none() {
        return Ok(bar.skip("strace is not installed"));
    }
    let ours = Trace::forks(&site.command("sync", &["--no-drift"]), &world.place)?.processes();
    let theirs = Trace::forks(&question(world, plant), &world.place)?.processes();
    let measured = format!("{ours} in all, {theirs} in git ls-remote");
    let count = u32::try_from(ours.saturating_sub(theirs)).unwrap_or(u32::MAX);
    Ok(bar.judge(f64::from(count), measured))
}
