//! How large images may be that ship.

use std::fs;
use std::path::Path;

use anyhow::ensure;
use stoker_image::Image;

use super::Product;

/// The most bytes of an image, gzipped. docs/decisions/0025 says where the bytes are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The whole archive.
    pub(super) archive: u64,
    /// What is not git, ssh and their libraries: our program, the accounts and the certificates.
    pub(super) own: u64,
}

/// Says how large an image is, and fails when it is too large.
pub(super) fn check(product: Product, image: &Image, archive: &Path) -> anyhow::Result<()> {
    let Some(limits) = product.limits else { return Ok(()) };
    let own =
        image.gzipped_size(|path| path.starts_with("usr/local") || path.starts_with("etc"))?;
    let (size, own) = (fs::metadata(archive)?.len(), u64::try_from(own)?);
    let (name, architecture) = (product.name, image.distribution().architecture.name());
    let text = format!("{name} {architecture}: {size} bytes, without git and ssh {own} bytes");
    let is_small = size <= limits.archive && own <= limits.own;
    ensure!(is_small, "{text}; at most {} and {} are allowed", limits.archive, limits.own);
    eprintln!("{:<12} ok  {text}", "size");
    Ok(())
}
