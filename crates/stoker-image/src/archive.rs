//! The archive of an image: a docker-archive with one layer, a configuration and a manifest.
//!
//! Every entry has the time 0 and the entries are sorted, so equal images are equal archives.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::image::{Entry, Image};
use crate::{Error, gzip, sha256};

/// Every file is as old as the epoch: an archive must not depend on when it was made.
const CREATED: &str = "1970-01-01T00:00:00Z";

/// The member that names the others.
const MANIFEST: &str = "manifest.json";

/// Whether the layer in the archive is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Quick to write and to import: for images that stay on this machine.
    None,
    /// gzip: for images that travel.
    Gzip,
}

/// What an archive says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Name and tag.
    pub name: String,
    /// The digest of the configuration: equal ids are equal images.
    pub id: String,
}

#[derive(Deserialize)]
struct ManifestEntry {
    #[serde(rename = "Config")]
    configuration: String,
    #[serde(rename = "RepoTags")]
    names: Vec<String>,
}

impl Manifest {
    /// Reads the manifest of an archive with one image, without its layer.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let malformed = || Error::NotAnImage { path: path.to_owned() };
        let file = File::open(path).map_err(Error::read(path))?;
        let mut archive = tar::Archive::new(file);
        for entry in archive.entries_with_seek().map_err(Error::read(path))? {
            let entry = entry.map_err(Error::read(path))?;
            if entry.path().is_ok_and(|name| name == Path::new(MANIFEST)) {
                let list: Vec<ManifestEntry> =
                    serde_json::from_reader(entry).map_err(|_| malformed())?;
                let found = list.into_iter().next().ok_or_else(malformed)?;
                let name = found.names.into_iter().next().ok_or_else(malformed)?;
                let id = found.configuration.trim_end_matches(".json").to_owned();
                return Ok(Self { name, id });
            }
        }
        Err(malformed())
    }
}

/// Writes the archive of an image.
pub(crate) fn write(image: &Image, path: &Path, compression: Compression) -> Result<(), Error> {
    let failed = |source| Error::Write { path: path.to_owned(), source };
    let layer = layer(image).map_err(failed)?;
    let configuration = configuration(image, &layer).to_string();
    let configuration_name = format!("{}.json", sha256(&[configuration.as_bytes()]));
    let (layer_name, layer) = match compression {
        Compression::None => ("layer.tar", layer),
        Compression::Gzip => ("layer.tar.gz", gzip(&layer)),
    };
    let manifest = json!([{
        "Config": configuration_name, "RepoTags": [image.name], "Layers": [layer_name],
    }])
    .to_string();
    let parts = [
        (configuration_name.as_str(), configuration.as_bytes()),
        (layer_name, layer.as_slice()),
        (MANIFEST, manifest.as_bytes()),
    ];
    let write = || -> io::Result<()> {
        let mut archive = tar::Builder::new(File::create(path)?);
        for (name, bytes) in parts {
            let mut header = header(tar::EntryType::Regular, bytes.len(), 0o644);
            archive.append_data(&mut header, name, bytes)?;
        }
        archive.into_inner()?.flush()
    };
    write().map_err(failed)
}

/// The files of the image as an archive.
pub(crate) fn layer(image: &Image) -> io::Result<Vec<u8>> {
    let mut layer = tar::Builder::new(Vec::new());
    let parents = parents(image);
    let entries = image.entries.iter().map(|(path, entry)| (path.as_path(), entry));
    let all: BTreeMap<&Path, &Entry> =
        parents.iter().map(|(path, entry)| (path.as_path(), entry)).chain(entries).collect();
    for (path, entry) in all {
        match entry {
            Entry::Directory { mode, owner } => {
                let mut header = header(tar::EntryType::Directory, 0, *mode);
                header.set_uid(u64::from(*owner));
                header.set_gid(u64::from(*owner));
                layer.append_data(&mut header, path, io::empty())?;
            }
            Entry::File { bytes, mode } => {
                let mut header = header(tar::EntryType::Regular, bytes.len(), *mode);
                layer.append_data(&mut header, path, bytes.as_slice())?;
            }
            Entry::Link { target } => {
                let mut header = header(tar::EntryType::Symlink, 0, 0o777);
                layer.append_link(&mut header, path, target)?;
            }
        }
    }
    layer.into_inner()
}

/// The directories above every entry. A parent sorts before what is in it.
fn parents(image: &Image) -> BTreeMap<PathBuf, Entry> {
    let ancestors = image.entries.keys().flat_map(|path| path.ancestors().skip(1));
    ancestors
        .filter(|path| !path.as_os_str().is_empty())
        .map(|path| (path.to_owned(), Entry::Directory { mode: 0o755, owner: 0 }))
        .collect()
}

fn configuration(image: &Image, layer: &[u8]) -> Value {
    let settings = &image.settings;
    json!({
        "architecture": image.distribution.architecture.name(),
        "os": "linux",
        "created": CREATED,
        "config": {
            "User": format!("{}:{}", settings.user, settings.group),
            "Env": settings.environment,
            "WorkingDir": "/",
            "Entrypoint": settings.entrypoint,
            "Labels": settings.labels,
            "StopSignal": settings.stop_signal,
        },
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", sha256(&[layer]))]},
    })
}

fn header(kind: tar::EntryType, size: usize, mode: u32) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size as u64);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header
}
