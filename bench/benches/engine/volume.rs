//! P12: how many bytes are written to the data volume.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use stoker_bench::finding::{Bar, Finding, Unit};
use stoker_bench::program::Program;
use stoker_bench::trace::Trace;

use crate::World;
use crate::plant::Plant;
use crate::site::{Outcome, Site};
use crate::world::FILES;

const MIB: f64 = 1024.0 * 1024.0;

/// Measures it.
pub(crate) fn measure(world: &World, plant: &Plant) -> anyhow::Result<Vec<Finding>> {
    let first =
        Bar::ratio("P12", format!("bytes written by a first sync of {FILES}, to content"), 1.1);
    let later = Bar {
        id: "P12",
        claim: format!("bytes written by 1 change of {FILES}, beyond the changed ones"),
        limit: 1.0,
        unit: Unit::Mebibytes,
    };
    if Program::find("strace").is_none() {
        let why = "strace is not installed";
        return Ok(vec![first.skip(why), later.skip(why)]);
    }
    let site = Site::new(world, plant, "volume");
    let commits = plant.changes(2, 1)?;
    plant.publish(&commits[0])?;
    let written = trace(world, &site)?.0;
    let content = float(content(&site.data)?);
    let measured = format!("{:.1} MiB for {:.1}", written / MIB, content / MIB);
    let first = first.judge(written / content, measured);
    plant.publish(&commits[1])?;
    let (written, outcome) = trace(world, &site)?;
    let changed = float(outcome.bytes_written);
    let measured = format!("{written:.0} bytes for {changed:.0}");
    Ok(vec![first, later.judge((written - changed) / MIB, measured)])
}

/// Syncs, and counts the bytes that went to files below the data directory.
fn trace(world: &World, site: &Site<'_>) -> anyhow::Result<(f64, Outcome)> {
    let trace = Trace::writes(&site.command("sync", &["--create"]), &world.place)?;
    Ok((float(trace.bytes_below(&site.data)), Outcome::parse(&trace.stdout)?))
}

/// Adds up what is in the files, our own state aside.
fn content(data: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(data).context("failed to list the data directory")? {
        let entry = entry.context("failed to list the data directory")?;
        let look = entry.metadata().context("failed to look at a file")?;
        if entry.file_name() != ".stoker" {
            bytes += if look.is_dir() { content(&entry.path())? } else { look.len() };
        }
    }
    Ok(bytes)
}

#[expect(clippy::cast_precision_loss, reason = "no volume here has 2^53 bytes")]
fn float(bytes: u64) -> f64 {
    bytes as f64
}
