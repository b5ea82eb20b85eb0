//! Rust programs that checks need, built once and kept outside the checkout.

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use crate::step;

/// A program that cargo can install.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool {
    /// The file name.
    pub(crate) program: &'static str,
    /// What `cargo install` is told.
    pub(crate) install: &'static [&'static str],
}

/// Bans, licences and sources of dependencies.
pub(crate) const DENY: Tool =
    Tool { program: "cargo-deny", install: &["cargo-deny", "--version", "^0.20"] };

/// The documentation; without its server and its search index, which nothing here uses.
pub(crate) const MDBOOK: Tool =
    Tool { program: "mdbook", install: &["mdbook", "--version", "^0.5", "--no-default-features"] };

impl Tool {
    /// The program, from PATH or our cache, installed first if neither has it.
    pub(crate) fn command(self) -> anyhow::Result<Command> {
        let path = env::var_os("PATH").unwrap_or_default();
        let kept = cache().join("bin");
        let found = env::split_paths(&path)
            .chain([kept.clone()])
            .map(|directory| directory.join(self.program))
            .find(|candidate| candidate.is_file());
        if let Some(program) = found {
            return Ok(Command::new(program));
        }
        let started = Instant::now();
        eprintln!("installing {} (once per machine; minutes) …", self.program);
        let mut install = step::cargo();
        install.args(["install", "--quiet", "--locked", "--root"]).arg(cache()).args(self.install);
        // Not below the checkout's own target directory: a fresh clone would build it again.
        install.env("CARGO_TARGET_DIR", cache().join("target"));
        step::shown(&mut install)?;
        std::fs::remove_dir_all(cache().join("target")).ok();
        step::done(self.program, started);
        Ok(Command::new(kept.join(self.program)))
    }
}

fn cache() -> PathBuf {
    let base = env::var_os("XDG_CACHE_HOME").filter(|value| !value.is_empty()).map_or_else(
        || env::home_dir().unwrap_or_else(env::temp_dir).join(".cache"),
        PathBuf::from,
    );
    base.join("stoker").join("tools")
}
