//! Debian's packages of another architecture, unpacked into a directory and never installed.
//!
//! The directory has a package database, so `dpkg-query --admindir` says which package a file is
//! from. No script of a package runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use stoker_image::Architecture;

use crate::step;

/// What images take from Debian, with everything that it depends on.
const PACKAGES: &[&str] = &["git", "openssh-client", "libnss-wrapper"];
/// The headers that C code of our dependencies is compiled with; it depends on a whole compiler,
/// which we do not need.
const HEADERS: &str = "musl-dev";
/// Written last.
const COMPLETE: &str = ".complete";

/// Returns the directory with the packages, and fills it if that has not been done.
pub(crate) fn unpacked(architecture: Architecture) -> anyhow::Result<PathBuf> {
    let root = step::target().join(format!("debian-{}", architecture.name()));
    let root = std::path::absolute(root).context("failed to find the target directory")?;
    if root.join(COMPLETE).is_file() {
        return Ok(root);
    }
    fs::remove_dir_all(&root).ok();
    let packages = download(&root.join("apt"), architecture)?;
    let database = root.join("var/lib/dpkg");
    fs::create_dir_all(database.join("info"))?;
    // Lists have the architecture in their names.
    fs::write(database.join("info/format"), "1\n")?;
    let mut status = String::new();
    for package in packages {
        status += &unpack(&package, &root, &database)?;
    }
    fs::write(database.join("status"), status)?;
    fs::remove_dir_all(root.join("apt"))?;
    fs::write(root.join(COMPLETE), "")?;
    Ok(root)
}

/// Downloads with lists and a cache of their own: this machine's stay as they are.
fn download(directory: &Path, architecture: Architecture) -> anyhow::Result<Vec<PathBuf>> {
    let archives = directory.join("cache/archives");
    for path in [archives.join("partial"), directory.join("state/lists/partial")] {
        fs::create_dir_all(&path)
            .with_context(|| format!("failed to create {}", path.display()))?;
    }
    fs::write(directory.join("status"), "")?;
    let apt = |words: &[&str]| {
        let mut command = Command::new("apt-get");
        command.current_dir(&archives);
        let shown = directory.display();
        let settings = [
            format!("APT::Architecture={}", architecture.name()),
            format!("APT::Architectures::={}", architecture.name()),
            format!("Dir::State={shown}/state"),
            format!("Dir::State::status={shown}/status"),
            format!("Dir::Cache={shown}/cache"),
            // What it downloads is for root alone otherwise.
            "APT::Sandbox::User=root".to_owned(),
        ];
        command.args(settings.iter().flat_map(|setting| ["-o", setting])).arg("-qq").args(words);
        step::quiet(&format!("apt {}", architecture.name()), &mut command)
    };
    apt(&["update"])?;
    let install = ["install", "-y", "--download-only", "--no-install-recommends"];
    apt(&[&install, PACKAGES].concat())?;
    apt(&["download", HEADERS])?;
    let entries = fs::read_dir(&archives)?.map(|entry| entry.map(|entry| entry.path()));
    let mut packages: Vec<PathBuf> = entries.collect::<Result<_, _>>()?;
    packages.retain(|path| path.extension().is_some_and(|it| it == "deb"));
    packages.sort();
    Ok(packages)
}

/// Unpacks a package, lists its files, and returns its entry for the database.
fn unpack(package: &Path, root: &Path, database: &Path) -> anyhow::Result<String> {
    let deb = |action: &str| {
        let mut command = Command::new("dpkg-deb");
        command.arg(action).arg(package);
        command
    };
    step::output(deb("--extract").arg(root))?;
    let field = |name: &str| -> anyhow::Result<String> {
        Ok(step::output(deb("--field").arg(name))?.trim().to_owned())
    };
    let mut name = field("Package")?;
    if field("Multi-Arch")? == "same" {
        name = format!("{name}:{}", field("Architecture")?);
    }
    let list = paths(&step::output(&mut deb("--contents"))?);
    fs::write(database.join("info").join(format!("{name}.list")), list)?;
    let fields = step::output(&mut deb("--field"))?;
    Ok(format!("{}\nStatus: install ok installed\n\n", fields.trim_end()))
}

/// The paths in a listing of a package, as dpkg keeps them. A link is followed by its target.
fn paths(listing: &str) -> String {
    let path = |line: &str| {
        let (_, rest) = line.split_once(" ./")?;
        let path = rest.split(" -> ").next()?.split(" link to ").next()?;
        let path = path.trim_end_matches('/');
        Some(if path.is_empty() { "/.\n".to_owned() } else { format!("/{path}\n") })
    };
    listing.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_directories_and_links_are_listed_by_their_paths() {
        let listing = "\
drwxr-xr-x root/root         0 2024-01-01 00:00 ./
drwxr-xr-x root/root         0 2024-01-01 00:00 ./usr/bin/
-rwxr-xr-x root/root      4096 2024-01-01 00:00 ./usr/bin/git
hrwxr-xr-x root/root         0 2024-01-01 00:00 ./usr/bin/x link to ./usr/bin/git
lrwxrwxrwx root/root         0 2024-01-01 00:00 ./usr/bin/y -> git
";
        assert_eq!(paths(listing), "/.\n/usr/bin\n/usr/bin/git\n/usr/bin/x\n/usr/bin/y\n");
    }
}
