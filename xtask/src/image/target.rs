//! What static programs are compiled for: this machine, or the other architecture.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use stoker_image::{Architecture, Distribution, Image};

use crate::debian::foreign;
use crate::step;

/// The cross compiler, which links, too.
const CROSS_COMPILER: &str = "aarch64-linux-gnu-gcc";
/// Programs that ship have one copy of functions that are alike, and short relocations.
const SMALL: &str = "-C link-arg=-fuse-ld=lld -C link-arg=-Wl,--icf=all \
                     -C link-arg=-Wl,-z,pack-relative-relocs";
/// Runs programs of the other architecture.
const EMULATOR: &str = "qemu-aarch64-static";

/// What static programs are compiled for.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    triple: String,
    /// For a C library that links statically only when asked.
    flags: Option<&'static str>,
    /// Linker and C compiler of another architecture.
    environment: Vec<(String, OsString)>,
    distribution: Distribution,
}

impl Target {
    /// musl, installed first if rustup can; otherwise, on this machine, glibc, linked statically.
    pub(crate) fn choose(architecture: Architecture) -> anyhow::Result<Self> {
        let machine = architecture.machine();
        let musl = format!("{machine}-unknown-linux-musl");
        let has_musl = has_standard_library(&musl)? || add_target(&musl);
        if architecture != Architecture::of_this_machine() {
            ensure!(has_musl, "{musl} can't be installed: rustup target add {musl}");
            return Self::cross(architecture, musl);
        }
        let distribution = Distribution::of_this_machine();
        let environment = Vec::new();
        if has_musl {
            return Ok(Self { triple: musl, flags: None, environment, distribution });
        }
        let triple = format!("{machine}-unknown-linux-gnu");
        eprintln!("note: {musl} can't be installed; linking {triple} statically instead");
        let flags = Some("-C target-feature=+crt-static");
        Ok(Self { triple, flags, environment, distribution })
    }

    /// Rust brings musl to link with; C code is compiled with the headers of Debian's musl.
    fn cross(architecture: Architecture, triple: String) -> anyhow::Result<Self> {
        ensure!(
            architecture == Architecture::Arm64,
            "this machine can build for itself and for arm64 only"
        );
        let root = foreign::unpacked(architecture)?;
        let own = step::output(Command::new(CROSS_COMPILER).arg("-print-file-name=include"))?;
        let headers = root.join(format!("usr/include/{}-linux-musl", architecture.machine()));
        ensure!(headers.is_dir(), "there are no headers of musl in {}", headers.display());
        let flags = format!("-nostdinc -isystem {} -isystem {}", headers.display(), own.trim_end());
        let lower = triple.replace('-', "_");
        let environment = vec![
            (format!("CARGO_TARGET_{}_LINKER", lower.to_uppercase()), CROSS_COMPILER.into()),
            (format!("CC_{lower}"), CROSS_COMPILER.into()),
            (format!("AR_{lower}"), "aarch64-linux-gnu-ar".into()),
            (format!("CFLAGS_{lower}"), flags.into()),
        ];
        let distribution = Distribution { architecture, root };
        Ok(Self { triple, flags: None, environment, distribution })
    }

    pub(crate) fn triple(&self) -> &str {
        &self.triple
    }

    pub(crate) fn architecture(&self) -> Architecture {
        self.distribution.architecture
    }

    /// Where git and ssh come from.
    pub(crate) fn distribution(&self) -> &Distribution {
        &self.distribution
    }

    /// Builds the programs of packages.
    pub(crate) fn build(&self, profile: &str, packages: &[&str]) -> anyhow::Result<()> {
        let mut command = step::cargo();
        command.args(["build", "--quiet", "--locked", "--profile", profile, "--bins"]);
        command.args(["--target", &self.triple]);
        command.args(packages.iter().flat_map(|package| ["--package", package]));
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let mut flags: Vec<String> = self.flags.into_iter().map(str::to_owned).collect();
        if profile.starts_with("dist") {
            flags.push(SMALL.to_owned());
            // Panics name files of dependencies, and where those are is not part of a release.
            flags.push(format!("--remap-path-prefix={}=", dependencies()?.display()));
            command.env("COMPILER_PATH", linkers()?);
            command.args(["--features", "stoker-runtime/small"]);
        }
        if !flags.is_empty() {
            let variable = self.triple.replace('-', "_").to_uppercase();
            command.env(format!("CARGO_TARGET_{variable}_RUSTFLAGS"), flags.join(" "));
        }
        step::shown(&mut command)
    }

    /// Where a program is.
    pub(crate) fn program(&self, profile: &str, name: &str) -> PathBuf {
        step::target().join(&self.triple).join(profile).join(name)
    }

    /// Starts a static program with these words, on an emulator if it must be.
    pub(crate) fn try_program(&self, program: &Path, words: &[&str]) -> anyhow::Result<String> {
        step::output(self.runner(program).args(words))
    }

    /// Starts the program of an image, git, its helper for HTTP, and ssh.
    pub(crate) fn try_image(&self, image: &Image, name: &str) -> anyhow::Result<()> {
        let root = step::target().join(format!("try-{name}-{}", self.architecture().name()));
        fs::remove_dir_all(&root).ok();
        image.unpack(&root)?;
        let own = root.join("usr/local/bin").join(name);
        let version = step::output(self.runner(&own).arg("--version"))?;
        let git = step::output(self.linked(&root, "usr/bin/git").arg("--version"))?;
        let ssh = self.linked(&root, "usr/bin/ssh").arg("-V").output()?;
        let ssh = String::from_utf8_lossy(&ssh.stderr).into_owned();
        // Without words it says how it is called, and fails.
        let helper = self.linked(&root, "usr/lib/git-core/git-remote-http").output()?;
        let helper = String::from_utf8_lossy(&helper.stderr).into_owned();
        fs::remove_dir_all(&root)?;
        let is_right = version.contains(super::VERSION)
            && git.starts_with("git version")
            && ssh.starts_with("OpenSSH")
            && helper.contains("remote-curl: usage");
        let all = [&version, &git, &ssh, &helper].map(|text| text.trim()).join("; ");
        ensure!(is_right, "programs of the image {name} do not start: {all}");
        eprintln!("{:<12} ok  {all}", self.architecture().name());
        Ok(())
    }

    /// A static program.
    fn runner(&self, program: &Path) -> Command {
        if self.architecture() == Architecture::of_this_machine() {
            return Command::new(program);
        }
        let mut command = Command::new(EMULATOR);
        command.arg(program);
        command
    }

    /// A program with the loader and the libraries of its image, and no other ones.
    fn linked(&self, root: &Path, program: &str) -> Command {
        let (loader, machine) = match self.architecture() {
            Architecture::Amd64 => ("lib64/ld-linux-x86-64.so.2", "x86_64"),
            Architecture::Arm64 => ("lib/ld-linux-aarch64.so.1", "aarch64"),
        };
        let libraries = ["lib", "usr/lib"].map(|directory| {
            root.join(directory).join(format!("{machine}-linux-gnu")).display().to_string()
        });
        let mut command = self.runner(&root.join(loader));
        command.args(["--inhibit-cache", "--library-path", &libraries.join(":")]);
        command.arg(root.join(program));
        command
    }
}

/// Where cargo unpacks what we depend on.
fn dependencies() -> anyhow::Result<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo")));
    Ok(home.context("cargo has no home directory")?.join("registry/src"))
}

/// Where C compilers find the linker that Rust brings.
fn linkers() -> anyhow::Result<PathBuf> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let libraries = step::output(Command::new(rustc).args(["--print", "target-libdir"]))?;
    let directory = Path::new(libraries.trim()).with_file_name("bin/gcc-ld");
    ensure!(directory.is_dir(), "Rust's linker is not in {}", directory.display());
    Ok(directory)
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
