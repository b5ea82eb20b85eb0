//! Programs that the tests need from the distribution, installed where that is possible.

pub(crate) mod foreign;

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use crate::step;

/// A file that tells whether the package is there, and the package.
const NEEDED: &[(&str, &str)] = &[
    ("git", "git"),
    ("sshd", "openssh-server"),
    ("ssh", "openssh-client"),
    ("libnss_wrapper.so", "libnss-wrapper"),
    ("unshare", "util-linux"),
    ("ip", "iproute2"),
    ("nft", "nftables"),
    ("containerd", "containerd"),
    ("runc", "runc"),
    ("/usr/lib/cni/bridge", "containernetworking-plugins"),
    ("busybox", "busybox-static"),
    ("strace", "strace"),
    ("bindfs", "bindfs"),
    ("lowntfs-3g", "ntfs-3g"),
    ("rsync", "rsync"),
    ("cc", "gcc"),
    ("musl-gcc", "musl-tools"),
    ("gzip", "gzip"),
    ("curl", "curl"),
    ("openssl", "openssl"),
    ("/etc/ssl/certs/ca-certificates.crt", "ca-certificates"),
];

/// What builds and tries programs of the other architecture.
const CROSS: &[(&str, &str)] = &[
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("qemu-aarch64-static", "qemu-user-static"),
];

/// Servers that a package would start on installation stay down with this in place.
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// Installs what is missing. Where that can't be done, one line says what to install; the tests
/// that need it say so again and count as skipped.
pub(crate) fn install_missing() -> anyhow::Result<()> {
    install(NEEDED)
}

/// Installs what programs of the other architecture need, as far as it is missing.
pub(crate) fn install_cross() -> anyhow::Result<()> {
    install(CROSS)
}

fn install(needed: &[(&str, &'static str)]) -> anyhow::Result<()> {
    let missing: Vec<&str> =
        needed.iter().filter(|(file, _)| !present(file)).map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" ");
    if !(present("apt-get") && is_root()) {
        eprintln!("note: not everything can run here; install: {names}");
        return Ok(());
    }
    let _quiet = ServicesStayDown::begin().context("failed to keep services down")?;
    // Before the first update of a fresh machine the lists may be empty or old.
    step::quiet("apt update", Command::new("apt-get").args(["update", "-qq"]))?;
    let mut install = Command::new("apt-get");
    install.env("DEBIAN_FRONTEND", "noninteractive");
    install.args(["install", "-y", "-qq", "--no-install-recommends"]).args(&missing);
    step::quiet("apt install", &mut install)
}

fn present(file: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    // sbin is not on every user's PATH, and sshd insists on being called by its full one.
    let libraries = format!("/usr/lib/{}-linux-gnu", env::consts::ARCH);
    let extra = ["/usr/sbin", "/sbin", &libraries].map(Into::into);
    env::split_paths(&path).chain(extra).any(|directory| directory.join(file).exists())
}

/// Root owns /proc/self exactly when we are root: no library is needed for one number.
pub(crate) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

struct ServicesStayDown {
    ours: bool,
}

impl ServicesStayDown {
    fn begin() -> io::Result<Self> {
        let ours = !Path::new(POLICY).exists();
        if ours {
            fs::write(POLICY, "#!/bin/sh\nexit 101\n")?;
            fs::set_permissions(POLICY, fs::Permissions::from_mode(0o755))?;
        }
        Ok(Self { ours })
    }
}

impl Drop for ServicesStayDown {
    fn drop(&mut self) {
        if self.ours {
            fs::remove_file(POLICY).ok();
        }
    }
}
