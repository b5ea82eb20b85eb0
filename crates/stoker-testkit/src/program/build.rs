//! Builds one program into the cache, once, however many processes ask at the same time.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::{Program, pin};
use crate::state;

/// Why a program could neither be found nor built.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "a field is named after what it holds")]
pub enum Error {
    /// No Go toolchain to build with.
    #[error(
        "{program} is not here and can't be built: no `go` on PATH (install Go 1.26 or newer, or set KUBEBUILDER_ASSETS to a directory that has it)"
    )]
    NoGo { program: &'static str },
    /// The build itself failed.
    #[error("failed to build {program} {version}; the last lines of go said:\n{output}")]
    Go {
        program: &'static str,
        version: &'static str,
        /// What go wrote last; a failed download names its module here.
        output: String,
    },
    /// The cache could not be written.
    #[error("failed to keep {program} in {}", directory.display())]
    Cache { program: &'static str, directory: PathBuf, source: io::Error },
}

/// Returns the cached program, building it if this machine has never done so for this pin.
pub(super) fn cached_or_built(program: Program) -> Result<PathBuf, Error> {
    let pin = pin::of(program);
    let directory =
        state::cache().join("cluster").join(format!("{}-{}", pin.directory, pin.hash()));
    let target = directory.join(program.file_name());
    if target.is_file() {
        return Ok(target);
    }
    let cache = |source| Error::Cache {
        program: program.file_name(),
        directory: directory.clone(),
        source,
    };
    fs::create_dir_all(&directory).map_err(cache)?;
    let lock = File::create(directory.join("lock")).map_err(cache)?;
    lock.lock().map_err(cache)?;
    if !target.is_file() {
        let fresh = directory.join(format!("{}.building", program.file_name()));
        build(program, &fresh)?;
        fs::rename(&fresh, &target).map_err(cache)?;
    }
    Ok(target)
}

fn build(program: Program, output: &Path) -> Result<(), Error> {
    let (name, pin, started) = (program.file_name(), pin::of(program), Instant::now());
    tell(&format!("building {name} {} (once per version; minutes) …", pin.version()));
    let result = Command::new("go")
        .current_dir(concat_manifest("../../tools/cluster").join(pin.directory))
        .args(["build", "-mod=readonly", "-trimpath", "-ldflags", &pin.linker_flags(), "-o"])
        .arg(output)
        .arg(pin::package(program))
        .env("CGO_ENABLED", "0")
        .env_remove("GOFLAGS")
        .output()
        .map_err(|_| Error::NoGo { program: name })?;
    if !result.status.success() {
        let text = String::from_utf8_lossy(&result.stderr);
        let lines: Vec<&str> = text.lines().collect();
        let output = lines[lines.len().saturating_sub(12)..].join("\n");
        return Err(Error::Go { program: name, version: pin.version(), output });
    }
    tell(&format!("built {name} in {} s", started.elapsed().as_secs()));
    Ok(())
}

fn concat_manifest(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(relative)
}

/// Written past the test harness's capture: minutes of silence look like a hang.
fn tell(line: &str) {
    let mut stderr = io::stderr().lock();
    writeln!(stderr, "cluster: {line}").ok();
}
