//! Images on the node, each imported once however many tests ask for it.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::{Node, ctr, succeed};
use crate::image::{Compression, Image, Manifest};

impl Node {
    /// Puts an image on the node, if it is not there yet.
    ///
    /// # Panics
    /// When containerd does not accept it.
    pub fn load(&self, image: &Image) {
        let archive = tempfile::Builder::new().suffix(".tar").tempfile().expect("a temporary file");
        image.save(archive.path(), Compression::None).expect("the temporary file is writable");
        self.load_archive(archive.path());
    }

    /// Puts an image on the node from its archive, if it is not there yet, and returns its name.
    ///
    /// # Panics
    /// When the archive can't be read or containerd does not accept it.
    pub fn load_archive(&self, archive: &Path) -> String {
        let manifest = Manifest::read(archive).unwrap_or_else(|error| panic!("{error}"));
        let loaded = self.cluster.directory().join("images");
        let _lock = lock(&loaded).expect("the cluster's directory is writable");
        let marker = loaded.join(manifest.name.replace(['/', ':'], "_"));
        if fs::read_to_string(&marker).is_ok_and(|id| id == manifest.id) {
            return manifest.name;
        }
        let mut ctr = ctr(self.cluster.directory());
        ctr.args(["image", "import"]).arg(archive);
        succeed(&mut self.inside(&ctr));
        fs::write(&marker, &manifest.id).expect("the cluster's directory is writable");
        manifest.name
    }
}

/// Held while an image is imported: test processes share the node.
fn lock(directory: &Path) -> io::Result<File> {
    fs::create_dir_all(directory)?;
    let file = File::create(directory.join("lock"))?;
    file.lock()?;
    Ok(file)
}
