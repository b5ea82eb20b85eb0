//! The images of operator, agent and gateway stand-in, assembled without a container engine.
//!
//! Programs are linked statically and cargo builds them in a profile of their own, so that tests
//! do not pay for the optimisations of a release.

mod bar;
mod sbom;
mod target;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use stoker_image::recipe::Recipe;
use stoker_image::{Architecture, Compression, Image};

use crate::{debian, step};

use bar::Limits;
pub(crate) use sbom::document;
pub(crate) use target::Target;

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
    /// For this architecture: amd64 or arm64 [default: this machine's]
    #[arg(long, value_parser = parse_architecture)]
    architecture: Option<Architecture>,
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
    /// The stand-in does not ship and has none.
    limits: Option<Limits>,
    assemble: fn(&Recipe<'_>) -> Result<Image, stoker_image::Error>,
}

const PRODUCTS: [Product; 3] = [
    Product {
        name: "stoker-operator",
        dist: "dist-unwind",
        limits: Some(Limits { archive: 17_000_000, own: 5_000_000 }),
        assemble: |recipe| recipe.operator(),
    },
    Product {
        name: "stoker-agent",
        dist: "dist",
        limits: Some(Limits { archive: 16_000_000, own: 5_000_000 }),
        assemble: |recipe| recipe.agent(),
    },
    Product {
        name: "fake-gateway",
        dist: "image",
        limits: None,
        assemble: |recipe| recipe.gateway(),
    },
];

/// How programs are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Build {
    /// As they ship: smallest, slow to build.
    Small,
    /// To try the rest.
    Quick,
}

/// Builds the programs, assembles the images, and says where they are.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    debian::install_missing()?;
    if arguments.architecture.is_some_and(|it| it != Architecture::of_this_machine()) {
        debian::install_cross()?;
    }
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

/// Builds the images of a release, with a document beside each, and tries to start their programs.
/// The stand-in is not one of them.
pub(crate) fn release(target: &Target, output: &Path, build: Build) -> anyhow::Result<()> {
    for product in PRODUCTS.into_iter().filter(|product| product.name != "fake-gateway") {
        let profile = product.profile(build);
        target.build(profile, &[product.name])?;
        let image = product.image(target, profile, VERSION)?;
        let name = format!("{}-{VERSION}-linux-{}", product.name, target.architecture().name());
        let archive = output.join(format!("{name}.tar"));
        save(&image, Compression::Gzip, &archive)?;
        if build == Build::Small {
            bar::check(product, &image, &archive)?;
        }
        let text = sbom::document(product.name, target.triple(), Some(&image))?;
        fs::write(output.join(format!("{name}.spdx.json")), text)?;
        target.try_image(&image, product.name)?;
    }
    Ok(())
}

fn parse_architecture(text: &str) -> Result<Architecture, String> {
    let found = Architecture::ALL.into_iter().find(|it| it.name() == text);
    found.ok_or_else(|| "must be amd64 or arm64".to_owned())
}

impl Product {
    /// Cargo's profile.
    fn profile(self, build: Build) -> &'static str {
        match build {
            Build::Small => self.dist,
            Build::Quick => "image",
        }
    }

    fn image(self, target: &Target, profile: &str, tag: &str) -> anyhow::Result<Image> {
        let program = target.program(profile, self.name);
        let name = format!("{REGISTRY}/{}:{tag}", self.name);
        let distribution = target.distribution();
        let recipe = Recipe { name: &name, version: VERSION, program: &program, distribution };
        (self.assemble)(&recipe).with_context(|| format!("failed to assemble the image {name}"))
    }
}

fn write(arguments: &Arguments) -> anyhow::Result<Vec<PathBuf>> {
    let architecture = arguments.architecture.unwrap_or_else(Architecture::of_this_machine);
    let target = Target::choose(architecture)?;
    let products: Vec<Product> = PRODUCTS
        .into_iter()
        // Its shell is a program of this machine.
        .filter(|it| it.name != "fake-gateway" || architecture == Architecture::of_this_machine())
        .collect();
    if arguments.dist {
        for product in &products {
            target.build(product.dist, &[product.name])?;
        }
    } else {
        // One call, so that all three share what they depend on.
        target.build("image", &products.iter().map(|product| product.name).collect::<Vec<_>>())?;
    }
    let output = arguments.output.clone().unwrap_or_else(|| step::target().join("images"));
    fs::create_dir_all(&output)
        .with_context(|| format!("failed to create {}", output.display()))?;
    let tag = arguments.tag.as_deref().unwrap_or(VERSION);
    // Images that stay on this machine need not be small.
    let compression = if arguments.dist { Compression::Gzip } else { Compression::None };
    let archive = |product: Product| {
        let build = if arguments.dist { Build::Small } else { Build::Quick };
        let image = product.image(&target, product.profile(build), tag)?;
        if arguments.unpacked {
            let path = output.join(product.name);
            image.unpack(&path)?;
            return Ok(path);
        }
        let path = output.join(format!("{}.tar", product.name));
        save(&image, compression, &path)?;
        if arguments.dist {
            bar::check(product, &image, &path)?;
            let text = sbom::document(product.name, target.triple(), Some(&image))?;
            fs::write(output.join(format!("{}.spdx.json", product.name)), text)?;
        }
        Ok(path)
    };
    products.into_iter().map(archive).collect()
}

/// By rename, because tests may be loading the previous one.
fn save(image: &Image, compression: Compression, path: &Path) -> anyhow::Result<()> {
    let fresh = path.with_extension("new");
    image.save(&fresh, compression)?;
    fs::rename(&fresh, path).with_context(|| format!("failed to write {}", path.display()))
}
