//! P11: a repository with a pack of 500 MB, inside 128 MiB of memory.

use std::path::Path;

use stoker_bench::cgroup::Cgroup;
use stoker_bench::finding::{Bar, Finding, Unit};
use stoker_bench::heavy::{self, mebibytes};
use stoker_bench::place::Place;
use stoker_bench::program::complaint;

use crate::World;
use crate::plant::Plant;
use crate::site::Site;

const LIMIT: u64 = 128 * 1024 * 1024;

/// Measures it.
pub(crate) fn measure(world: &World, _: &Plant) -> anyhow::Result<Vec<Finding>> {
    let claim = "first sync of a 500 MB pack inside 128 MiB: memory that can't be given back";
    let bar = Bar { id: "P11", claim: claim.into(), limit: 96.0, unit: Unit::Mebibytes };
    let group = match Cgroup::with_limit(LIMIT) {
        Ok(group) => group,
        Err(error) => return Ok(vec![bar.skip(format!("no memory cgroup: {error}"))]),
    };
    let plant = Plant::of(&world.server, "heavy", heavy::tree(50))?;
    // On a disk: files on tmpfs would count as memory of whoever wrote them.
    let disk = Place::below(Path::new(env!("CARGO_TARGET_TMPDIR")))?;
    if disk.file_system() == "tmpfs" {
        return Ok(vec![bar.skip("the target directory is on tmpfs")]);
    }
    let site = Site::new(world, &plant, "heavy").below(&disk);
    let fared = group.run(&site.command("sync", &["--create"]))?;
    let (anonymous, peak) = (mebibytes(fared.anonymous_peak), mebibytes(fared.peak));
    if fared.output.status.success() && fared.kills == 0 {
        let measured = format!("finished; {peak:.0} MiB with page cache");
        return Ok(vec![bar.judge(anonymous, measured)]);
    }
    let why = complaint(&fared.output);
    let measured = format!("did not finish, {} killed for memory: {why}", fared.kills);
    Ok(vec![bar.judge(f64::INFINITY, measured)])
}
