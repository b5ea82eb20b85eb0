//! Archives of a release: entries as given, owned by root, with the time 0.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use stoker_image::gzip;

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
    fs::write(path, gzip(&archive.into_inner()?))
        .with_context(|| format!("failed to write {}", path.display()))
}
