//! How large the images are: the archives hold a gzipped layer, as a registry would send it.

use std::fs;

use anyhow::Context as _;
use stoker_bench::finding::{Bar, Finding, Unit};
use stoker_testkit::images;

use crate::world::World;

const BYTES_PER_MIB: f64 = 1024.0 * 1024.0;
const NAMES: [&str; 2] = ["stoker-operator", "stoker-agent"];

/// Measures them.
pub(crate) fn measure(_: &World<'_>) -> anyhow::Result<Vec<Finding>> {
    NAMES.into_iter().map(size).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a size with three digits")]
fn size(name: &'static str) -> anyhow::Result<Finding> {
    let archive = images::directory().join(format!("{name}.tar"));
    let metadata = fs::metadata(&archive);
    let bytes = metadata.with_context(|| format!("{} does not exist", archive.display()))?.len();
    let bar = Bar::figure("image", format!("{name}, gzipped"), Unit::Mebibytes);
    Ok(bar.judge(bytes as f64 / BYTES_PER_MIB, format!("{bytes} bytes")))
}
