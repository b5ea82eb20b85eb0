//! The manifest for krew, which installs `kubectl stoker`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use stoker_image::{Architecture, sha256};

use super::{DOWNLOADS, VERSION};

const HEAD: &str = "\
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: stoker
spec:
  version: vVERSION
  homepage: https://github.com/stoker-io/stoker
  shortDescription: Keep Ignition gateways in step with git
  description: |
    Shows whether Ignition gateways have what git has, explains what is wrong
    with the command that fixes it, pauses, resumes and migrates.
  platforms:
";

/// Writes the manifest for the archives of this release.
pub(super) fn write(output: &Path, archives: &[(Architecture, PathBuf)]) -> anyhow::Result<()> {
    let mut manifest = HEAD.replace("VERSION", VERSION);
    for (architecture, archive) in archives {
        let name = archive.file_name().context("an archive has a name")?.to_string_lossy();
        let digest = sha256(&[&fs::read(archive)?]);
        write!(
            manifest,
            "    - selector:
        matchLabels:
          os: linux
          arch: {}
      uri: {DOWNLOADS}/v{VERSION}/{name}
      sha256: {digest}
      bin: kubectl-stoker
      files:
        - from: kubectl-stoker
          to: .
        - from: LICENSE
          to: .
",
            architecture.name()
        )?;
    }
    fs::write(output.join("stoker.yaml"), manifest)?;
    Ok(())
}
