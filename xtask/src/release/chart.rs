//! The chart as a package, and the index of a repository that has it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use stoker_image::sha256;

use super::{DOWNLOADS, VERSION, archive};
use crate::{cluster, step};

const NAME: &str = "stoker-operator";

/// Packs the chart's files that are in git, and writes the index. Helm must be able to read both.
pub(super) fn package(output: &Path) -> anyhow::Result<()> {
    let mut git = Command::new("git");
    git.current_dir(step::root().join("charts")).args(["ls-files", "-z", NAME]);
    let listed = step::output(&mut git)?;
    let mut files = Vec::new();
    for name in listed.split_terminator('\0') {
        let path = step::root().join("charts").join(name);
        let is_executable = fs::metadata(&path)?.permissions().mode() & 0o100 != 0;
        files.push((name, fs::read(&path)?, if is_executable { 0o755 } else { 0o644 }));
    }
    let members: Vec<_> =
        files.iter().map(|(name, bytes, mode)| (*name, bytes.as_slice(), *mode)).collect();
    let package = output.join(format!("{NAME}-{VERSION}.tgz"));
    archive::write(&package, &members)?;
    let mut helm = Command::new(cluster::helm()?);
    step::output(helm.args(["show", "chart"]).arg(&package))?;
    let chart = fs::read_to_string(step::root().join("charts").join(NAME).join("Chart.yaml"))?;
    let digest = sha256(&[&fs::read(&package)?]);
    fs::write(output.join("index.yaml"), index(&chart, &digest, &committed()?))?;
    Ok(())
}

/// The time of the commit: the only one in a release.
fn committed() -> anyhow::Result<String> {
    let mut git = Command::new("git");
    git.current_dir(step::root()).env("TZ", "UTC0");
    git.args(["show", "--no-patch", "--format=%cd", "--date=format-local:%Y-%m-%dT%H:%M:%SZ"]);
    Ok(step::output(&mut git)?.trim().to_owned())
}

/// The fields of the chart, and where its package is.
fn index(chart: &str, digest: &str, created: &str) -> String {
    let fields = chart.lines().filter(|line| !line.starts_with('#'));
    let fields: Vec<String> = fields.map(|line| format!("      {line}\n")).collect();
    let fields = fields.concat();
    let url = format!("{DOWNLOADS}/v{VERSION}/{NAME}-{VERSION}.tgz");
    format!(
        "apiVersion: v1\nentries:\n  {NAME}:\n    -\n{fields}      created: \"{created}\"\n      \
         digest: {digest}\n      urls:\n        - {url}\ngenerated: \"{created}\"\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_has_the_fields_of_the_chart_and_its_digest() {
        let chart = "apiVersion: v2\n# a comment\nname: x\nkeywords: [a]\n";
        let index = index(chart, "abc", "2026-01-01T00:00:00Z");
        assert!(index.contains("    -\n      apiVersion: v2\n      name: x\n"), "{index}");
        assert!(index.contains("      digest: abc\n") && !index.contains("comment"), "{index}");
    }
}
