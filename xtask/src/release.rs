//! Everything of a release, in one directory: images, chart, command line, manifests and checksums.
//!
//! # Promises
//! Equal checkouts and toolchains give equal bytes: archives are sorted and have the time 0, and the
//! only time that is written down is that of the commit.

mod archive;
mod chart;
mod krew;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use stoker_image::{Architecture, sha256};

use crate::image::{self, Build, Target};
use crate::{cluster, debian, manifests, step};

/// All packages of this repository have one version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where a release is published.
const DOWNLOADS: &str = "https://github.com/stoker-io/stoker/releases/download";

/// The names of the checksums and of their signature.
const SUMS: &str = "SHA256SUMS";

/// Flags of `cargo xtask release`.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Arguments {
    /// Directory for the release, emptied first; target/release-VERSION when left out
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// A private key (PEM, Ed25519) that signs SHA256SUMS
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Build quickly instead of small: to try the release itself
    #[arg(long)]
    quick: bool,
}

/// Writes the release.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    debian::install_missing()?;
    debian::install_cross()?;
    cluster::build()?;
    let output = arguments.output.clone();
    let output = output.unwrap_or_else(|| step::target().join(format!("release-{VERSION}")));
    empty(&output)?;
    manifests::write(&output)?;
    chart::package(&output)?;
    let build = if arguments.quick { Build::Quick } else { Build::Small };
    let mut archives = Vec::new();
    for architecture in Architecture::ALL {
        let target = Target::choose(architecture)?;
        archives.push((architecture, command_line(&target, &output, build)?));
        image::release(&target, &output, build)?;
    }
    krew::write(&output, &archives)?;
    checksums(&output)?;
    if let Some(key) = &arguments.key {
        sign(key, &output)?;
    }
    println!("{}", output.display());
    print!("{}", fs::read_to_string(output.join(SUMS))?);
    Ok(())
}

/// Empties a directory that is missing, empty, or has a release in it.
fn empty(output: &Path) -> anyhow::Result<()> {
    let entries = fs::read_dir(output).map(Iterator::count).unwrap_or_default();
    if entries > 0 {
        let is_ours = output.join("install.yaml").is_file();
        ensure!(is_ours, "{} has other files in it: name an empty directory", output.display());
        fs::remove_dir_all(output)
            .with_context(|| format!("failed to empty {}", output.display()))?;
    }
    fs::create_dir_all(output).with_context(|| format!("failed to create {}", output.display()))
}

/// Packs the static program, under both of its names, and returns the archive.
fn command_line(target: &Target, output: &Path, build: Build) -> anyhow::Result<PathBuf> {
    let profile = match build {
        Build::Small => "dist",
        Build::Quick => "image",
    };
    target.build(profile, &["stoker-cli"])?;
    let program = target.program(profile, "stoker");
    let version = target.try_program(&program, &["--version"])?;
    ensure!(version.contains(VERSION), "stoker --version says {version:?}");
    let name = format!("stoker-{VERSION}-linux-{}", target.architecture().name());
    eprintln!("{:<12} ok  {}", target.architecture().name(), version.trim());
    let program = fs::read(&program)?;
    let license = fs::read(step::root().join("LICENSE"))?;
    let path = output.join(format!("{name}.tar.gz"));
    let files = [
        ("LICENSE", license.as_slice(), 0o644),
        ("kubectl-stoker", &program, 0o755),
        ("stoker", &program, 0o755),
    ];
    archive::write(&path, &files)?;
    let text = image::document("stoker-cli", target.triple(), None)?;
    fs::write(output.join(format!("{name}.spdx.json")), text)?;
    Ok(path)
}

/// Writes the checksums of every file.
fn checksums(output: &Path) -> anyhow::Result<()> {
    let entries = fs::read_dir(output)?.map(|entry| entry.map(|entry| entry.file_name()));
    let mut names: Vec<_> = entries.collect::<Result<_, _>>()?;
    names.sort();
    let mut text = String::new();
    for name in names {
        let digest = sha256(&[&fs::read(output.join(&name))?]);
        writeln!(text, "{digest}  {}", name.display())?;
    }
    fs::write(output.join(SUMS), text)?;
    Ok(())
}

/// Signs the checksums; an Ed25519 signature of the same bytes is always the same.
fn sign(key: &Path, output: &Path) -> anyhow::Result<()> {
    let mut openssl = Command::new("openssl");
    openssl.args(["pkeyutl", "-sign", "-rawin", "-inkey"]).arg(key);
    openssl.arg("-in").arg(output.join(SUMS)).arg("-out").arg(output.join("SHA256SUMS.sig"));
    step::quiet("signature", &mut openssl)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(name: &str) -> PathBuf {
        let path = step::target().join(format!("release-test-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("the target directory is there");
        path
    }

    #[test]
    fn checksums_and_their_signature_are_what_the_guide_verifies() {
        let directory = directory("sums");
        fs::write(directory.join("b"), "2").expect("a file");
        fs::write(directory.join("a"), "1").expect("a file");
        checksums(&directory).expect("checksums");
        let key = directory.join("key.pem");
        let run = |words: &str| {
            let mut words = words.split(' ');
            let mut command = Command::new(words.next().unwrap_or_default());
            let output = command.current_dir(&directory).args(words).output().expect("a program");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        run("openssl genpkey -algorithm ed25519 -out key.pem");
        sign(&key, &directory).expect("a signature");
        let first = fs::read(directory.join("SHA256SUMS.sig")).expect("a signature");
        sign(&key, &directory).expect("a signature");
        assert_eq!(fs::read(directory.join("SHA256SUMS.sig")).expect("a signature"), first);
        run("openssl pkey -in key.pem -pubout -out stoker.pub");
        // The commands of docs/guides/verifying.md.
        let guide = fs::read_to_string(step::root().join("docs/guides/verifying.md"));
        let guide = guide.expect("the guide");
        let commands: Vec<&str> = guide
            .lines()
            .filter(|line| line.starts_with("openssl pkeyutl") || line.starts_with("sha256sum"))
            .collect();
        let outputs: Vec<String> = commands.iter().map(|command| run(command)).collect();
        assert_eq!(outputs, ["Signature Verified Successfully\n", "a: OK\nb: OK\n"]);
        fs::remove_dir_all(directory).expect("it is ours");
    }

    #[test]
    fn a_directory_with_other_files_is_not_emptied() {
        let directory = directory("other");
        fs::write(directory.join("thesis.txt"), "1").expect("a file");
        empty(&directory).expect_err("not a release");
        fs::write(directory.join("install.yaml"), "1").expect("a file");
        empty(&directory).expect("a release");
        assert_eq!(fs::read_dir(&directory).expect("a directory").count(), 0);
        fs::remove_dir_all(directory).expect("it is ours");
    }
}
