//! Everything that CI runs, in the order in which it fails soonest.

use crate::{debian, error_text, generate, sizes, step, test, tool};

/// Runs all checks, the tests last so that their summary is what one sees.
pub(crate) fn run() -> anyhow::Result<()> {
    debian::install_missing()?;
    step::quiet("format", step::cargo().args(["fmt", "--all", "--check"]))?;
    let mut clippy = step::cargo();
    clippy.args(["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]);
    step::quiet("clippy", &mut clippy)?;
    generate::run(&generate::Arguments { check: true })?;
    sizes::run()?;
    error_text::run()?;
    // Advisories need a database that is not to be had everywhere; they are a release's own step.
    let mut deny = tool::DENY.command()?;
    deny.current_dir(step::root()).args(["--log-level", "error", "check"]);
    step::quiet("bans", deny.args(["bans", "licenses", "sources"]))?;
    let mut book = tool::MDBOOK.command()?;
    step::quiet("docs", book.current_dir(step::root()).args(["build", "docs"]))?;
    let mut rustdoc = step::cargo();
    rustdoc.env("RUSTDOCFLAGS", "-D warnings");
    rustdoc.args(["doc", "--quiet", "--workspace", "--no-deps", "--document-private-items"]);
    step::quiet("rustdoc", &mut rustdoc)?;
    test::run(&test::Arguments::default())
}
