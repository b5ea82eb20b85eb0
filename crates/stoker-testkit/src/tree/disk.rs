//! Trees onto the disk and back.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::{Node, Tree};

impl Tree {
    /// Puts the tree into a directory, over what is there; the rest stays.
    ///
    /// A file or link in the way of a directory is an error, as is a directory in the way of a
    /// file. Links that are in the way of a file are replaced, not followed.
    pub fn write_to(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir_all(dir)?;
        for (path, node) in self.iter() {
            make_parents(dir, path)?;
            let at = dir.join(OsStr::from_bytes(path));
            match node {
                Node::File { bytes, mode } => {
                    remove_if_there(&at)?;
                    fs::write(&at, bytes)?;
                    // By hand, because the process's umask has a say in what `open` gives.
                    fs::set_permissions(&at, Permissions::from_mode(*mode))?;
                }
                Node::Symlink(target) => {
                    remove_if_there(&at)?;
                    symlink(OsStr::from_bytes(target), &at)?;
                }
                Node::EmptyDir => make_dir(&at)?,
            }
        }
        Ok(())
    }

    /// Reads a directory. Links are read as links; sockets, pipes and devices are an error.
    pub fn read(dir: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        read_into(&mut tree, dir, &[])?;
        Ok(tree)
    }
}

fn read_into(tree: &mut Tree, dir: &Path, prefix: &[u8]) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let path = if prefix.is_empty() {
            name.as_bytes().to_vec()
        } else {
            [prefix, name.as_bytes()].join(&b'/')
        };
        // Of the entry itself: `DirEntry::metadata` does not follow links.
        let metadata = entry.metadata()?;
        let node = if metadata.is_dir() {
            let before = tree.0.len();
            read_into(tree, &entry.path(), &path)?;
            if tree.0.len() > before {
                continue;
            }
            Node::EmptyDir
        } else if metadata.is_symlink() {
            Node::Symlink(fs::read_link(entry.path())?.into_os_string().as_bytes().to_vec())
        } else if metadata.is_file() {
            let mode = metadata.permissions().mode() & 0o7777;
            Node::File { bytes: fs::read(entry.path())?, mode }
        } else {
            let name = path.escape_ascii();
            return Err(io::Error::other(format!("{name} is neither file, link nor directory")));
        };
        tree.0.insert(path, node);
    }
    Ok(())
}

/// Makes the directories above a path one by one, so that none of them is reached through a link.
fn make_parents(dir: &Path, path: &[u8]) -> io::Result<()> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes
        .map(|(at, _)| &path[..at])
        .try_for_each(|parent| make_dir(&dir.join(OsStr::from_bytes(parent))))
}

fn make_dir(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(io::Error::new(io::ErrorKind::NotADirectory, path.display().to_string())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(path),
        Err(error) => Err(error),
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
