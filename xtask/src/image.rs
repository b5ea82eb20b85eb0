//! The images of operator, agent and gateway stand-in, assembled without a container engine.
//!
//! Programs are linked statically and cargo builds them in a profile of their own, so that tests
//! do not pay for the optimisations of a release.

mod sbom;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, bail};
use stoker_image::recipe::Recipe;
use stoker_image::{Compression, Image};

use crate::{debian, step};

/// Where the images will be published.
const REGISTRY: &str = "ghcr.io/stoker-io";
/// All packages of this repository have one version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Flags of `cargo xtask image`.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Arguments {
    /// Tag of the images; the version of this checkout when left out
    #[arg(long)]
    tag: Option<String>,
    /// Build as for a release: smallest, slow to build, and with an SPDX document beside each
    #[arg(long)]
    dist: bool,
    /// Write the files of each image into a directory instead of an archive, for the Dockerfile
    #[arg(long)]
    unpacked: bool,
    /// Directory for the archives; target/images when left out
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// An image of ours.
#[derive(Debug, Clone, Copy)]
struct Product {
    /// Name of the image, of the package and of its program.
    name: &'static str,
    /// Cargo's profile for a release. The operator unwinds, so that one request that panics does
    /// not end the others; the agent aborts, because its supervisor starts the worker again.
    dist: &'static str,
    assemble: fn(&Recipe<'_>) -> Result<Image, stoker_image::Error>,
}

const PRODUCTS: [Product; 3] = [
    Product { name: "stoker-operator", dist: "dist-unwind", assemble: |recipe| recipe.operator() },
    Product { name: "stoker-agent", dist: "dist", assemble: |recipe| recipe.agent() },
    Product { name: "fake-gateway", dist: "dist", assemble: |recipe| recipe.gateway() },
];

/// Builds the programs, assembles the images, and says where they are.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    debian::install_missing()?;
    for archive in write(arguments)? {
        let size = fs::metadata(&archive)?.len() / 1024;
        println!("{:>8} KiB  {}", size, archive.display());
    }
    Ok(())
}

/// Builds the images that tests load on a node, which only root can have.
pub(crate) fn for_tests() -> anyhow::Result<()> {
    if !debian::is_root() {
        return Ok(());
    }
    let started = Instant::now();
    write(&Arguments::default())?;
    step::done("images", started);
    Ok(())
}

/// Builds the images as for a release and returns the directory of their archives.
pub(crate) fn for_release() -> anyhow::Result<PathBuf> {
    let started = Instant::now();
    let output = step::target().join("images-dist");
    let output = std::path::absolute(&output).context("failed to find the target directory")?;
    write(&Arguments { dist: true, output: Some(output.clone()), ..Arguments::default() })?;
    step::done("images", started);
    Ok(output)
}

fn write(arguments: &Arguments) -> anyhow::Result<Vec<PathBuf>> {
    let target = Target::choose()?;
    if arguments.dist {
        for product in PRODUCTS {
            target.build(product.dist, &[product.name])?;
        }
    } else {
        // One call, so that all three share what they depend on.
        target.build("image", &PRODUCTS.map(|product| product.name))?;
    }
    let output = arguments.output.clone().unwrap_or_else(|| step::target().join("images"));
    fs::create_dir_all(&output)
        .with_context(|| format!("failed to create {}", output.display()))?;
    let tag = arguments.tag.as_deref().unwrap_or(VERSION);
    // Images that stay on this machine need not be small.
    let compression = if arguments.dist { Compression::Gzip } else { Compression::None };
    let archive = |product: Product| {
        let profile = if arguments.dist { product.dist } else { "image" };
        let program = target.program(profile, product.name);
        let name = format!("{REGISTRY}/{}:{tag}", product.name);
        let recipe = Recipe { name: &name, version: VERSION, program: &program };
        let image = (product.assemble)(&recipe)
            .with_context(|| format!("failed to assemble the image {name}"))?;
        if arguments.unpacked {
            let path = output.join(product.name);
            image.unpack(&path)?;
            return Ok(path);
        }
        let path = output.join(format!("{}.tar", product.name));
        save(&image, compression, &path)?;
        if arguments.dist {
            let text = sbom::document(product.name, &target.triple, &image)?;
            fs::write(output.join(format!("{}.spdx.json", product.name)), text)?;
        }
        Ok(path)
    };
    PRODUCTS.into_iter().map(archive).collect()
}

/// By rename, because tests may be loading the previous one.
fn save(image: &Image, compression: Compression, path: &Path) -> anyhow::Result<()> {
    let fresh = path.with_extension("new");
    image.save(&fresh, compression)?;
    fs::rename(&fresh, path).with_context(|| format!("failed to write {}", path.display()))
}

/// What static programs are compiled for.
#[derive(Debug, Clone)]
struct Target {
    triple: String,
    /// For a C library that links statically only when asked.
    flags: Option<&'static str>,
}

impl Target {
    /// musl, installed first if rustup can; otherwise glibc, linked statically.
    fn choose() -> anyhow::Result<Self> {
        let architecture = env::consts::ARCH;
        let musl = format!("{architecture}-unknown-linux-musl");
        if has_standard_library(&musl)? || add_target(&musl) {
            return Ok(Self { triple: musl, flags: None });
        }
        let triple = format!("{architecture}-unknown-linux-gnu");
        eprintln!("note: {musl} can't be installed; linking {triple} statically instead");
        Ok(Self { triple, flags: Some("-C target-feature=+crt-static") })
    }

    fn build(&self, profile: &str, packages: &[&str]) -> anyhow::Result<()> {
        let mut command = step::cargo();
        command.args(["build", "--quiet", "--locked", "--profile", profile, "--bins"]);
        command.args(["--target", &self.triple]);
        command.args(packages.iter().flat_map(|package| ["--package", package]));
        if let Some(flags) = self.flags {
            let variable = self.triple.replace('-', "_").to_uppercase();
            command.env(format!("CARGO_TARGET_{variable}_RUSTFLAGS"), flags);
        }
        step::shown(&mut command)
    }

    fn program(&self, profile: &str, name: &str) -> PathBuf {
        step::target().join(&self.triple).join(profile).join(name)
    }
}

fn has_standard_library(triple: &str) -> anyhow::Result<bool> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .current_dir(step::root())
        .args(["--print", "target-libdir", "--target", triple])
        .output()
        .context("failed to start rustc")?;
    if !output.status.success() {
        bail!("rustc does not know the target {triple}");
    }
    Ok(Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}

fn add_target(triple: &str) -> bool {
    let mut rustup = Command::new("rustup");
    rustup.current_dir(step::root()).args(["target", "add", triple]);
    rustup.status().is_ok_and(|status| status.success())
}
