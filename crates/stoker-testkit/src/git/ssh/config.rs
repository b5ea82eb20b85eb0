//! The configuration of sshd, and what sshd needs from the machine.

use std::io;
use std::path::Path;
use std::process::Command;

use super::key::{AUTHORIZED, KINDS};
use crate::git::Error;
use crate::process;

/// The configuration file below the server's directory.
pub(super) const FILE: &str = "sshd_config";

/// The directory that sshd demands as root. Debian makes it when the service starts, which it need
/// not have done here, and the path is compiled in.
const EMPTY_DIRECTORY: &str = "/run/sshd";

/// Runs sshd with that directory in a mount namespace that nobody else sees.
const WITH_PRIVATE_RUN: &str =
    r#"mount -t tmpfs tmpfs /run && mkdir -m 0755 /run/sshd && exec "$@""#;

/// How sshd gets its empty directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Separation {
    /// It is there, or an ordinary user does not need it.
    Ready,
    /// It is made in a private mount.
    PrivateMount,
}

impl Separation {
    pub(super) fn choose() -> Self {
        if rustix::process::geteuid().is_root() && !Path::new(EMPTY_DIRECTORY).is_dir() {
            return Self::PrivateMount;
        }
        Self::Ready
    }

    /// Returns a guarded command that runs sshd, ready for arguments.
    pub(super) fn command(self) -> io::Result<Command> {
        let sshd = process::find_program("sshd".as_ref())?;
        match self {
            Self::Ready => process::command(sshd),
            Self::PrivateMount => {
                let mut unshare = process::command("unshare")?;
                unshare.args(["--mount", "--", "/bin/sh", "-c", WITH_PRIVATE_RUN, "sshd"]);
                unshare.arg(sshd);
                Ok(unshare)
            }
        }
    }
}

/// Writes the configuration: keys only, nothing of the machine, nothing of the user's git settings.
pub(super) fn write(directory: &Path) -> Result<(), Error> {
    let at = |name: &str| directory.join(name).display().to_string();
    let [first, second] = KINDS.map(|kind| at(kind.host_file()));
    let authorized = at(AUTHORIZED);
    let text = format!(
        "HostKey {first}\n\
         HostKey {second}\n\
         AuthorizedKeysFile {authorized}\n\
         PubkeyAuthentication yes\n\
         PasswordAuthentication no\n\
         KbdInteractiveAuthentication no\n\
         PermitRootLogin prohibit-password\n\
         UsePAM no\n\
         StrictModes no\n\
         PidFile none\n\
         AllowTcpForwarding no\n\
         X11Forwarding no\n\
         PrintMotd no\n\
         PrintLastLog no\n\
         UseDNS no\n\
         AcceptEnv GIT_PROTOCOL\n\
         SetEnv GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null\n",
    );
    let file = directory.join(FILE);
    std::fs::write(&file, text).map_err(Error::file(&file))
}
