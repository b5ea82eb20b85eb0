//! The commands and their flags.

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::{bench, check, cluster, e2e, generate, image, manifests, release, sizes, test};

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "Every command that people and CI run on this repository")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run all tests, a real Kubernetes included
    Test(test::Arguments),
    /// Run everything that CI runs: format, lints, generated files, sizes, bans, docs, tests
    Check,
    /// Run the claims that need a real node, by suite
    E2e(e2e::Arguments),
    /// Build the images of operator, agent and gateway stand-in as archives
    Image(image::Arguments),
    /// Render the chart as install.yaml and a kustomization
    Manifests(manifests::Arguments),
    /// Write a release: images, chart, static command line, manifests, checksums
    Release(release::Arguments),
    /// Measure against reference tools, side by side
    Bench(bench::Arguments),
    /// Write the files that are derived from code: CRDs and reference pages
    Generate(generate::Arguments),
    /// List files and functions that are longer than the style guide likes
    Sizes,
    /// Start a throwaway cluster and keep it until Ctrl-C
    Cluster(cluster::Arguments),
}

/// Runs the command that the user named; without one, lists them.
pub(crate) fn run() -> anyhow::Result<()> {
    match Arguments::parse().command {
        None => Ok(Arguments::command().print_help()?),
        Some(Command::Test(arguments)) => test::run(&arguments),
        Some(Command::Check) => check::run(),
        Some(Command::E2e(arguments)) => e2e::run(&arguments),
        Some(Command::Image(arguments)) => image::run(&arguments),
        Some(Command::Manifests(arguments)) => manifests::run(&arguments),
        Some(Command::Release(arguments)) => release::run(&arguments),
        Some(Command::Bench(arguments)) => bench::run(&arguments),
        Some(Command::Generate(arguments)) => generate::run(&arguments),
        Some(Command::Sizes) => sizes::run(),
        Some(Command::Cluster(arguments)) => cluster::run(&arguments),
    }
}
