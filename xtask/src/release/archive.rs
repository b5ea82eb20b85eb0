//! Archives of a release: entries as given, owned by root, with the time 0.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

/// A file of an archive: its path, its bytes and its mode.
pub(super) type Member<'a> = (&'a str, &'a [u8], u32);

/// Writes a gzipped tar archive.
pub(super) fn write(path: &Path, files: &[Member<'_>]) -> anyhow::Result<()> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes, mode) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(*mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        archive.append_data(&mut header, name, *bytes)?;
    }
    let archive = archive.into_inner()?;
    // Without a name and a time in its header.
    let mut gzip = Command::new("gzip");
    gzip.args(["-n", "-9"]).stdin(Stdio::piped()).stdout(File::create(path)?);
    let mut child = gzip.spawn().context("failed to start gzip")?;
    child.stdin.take().context("gzip has an input")?.write_all(&archive)?;
    ensure!(child.wait()?.success(), "gzip failed");
    Ok(())
}
