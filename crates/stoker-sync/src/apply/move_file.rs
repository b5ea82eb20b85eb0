//! Moves staged files into place: by rename, or by copy if the destination is on another volume.

use rustix::io::Errno;

use super::dirty_dirs::DirtyDirs;
use crate::disk::{Dir, DiskError, FileType};
use crate::manifest::record::FileStamp;
use crate::path::RelPath;
use crate::reserved::{RESOURCE_MANIFEST, TEMPORARY_PREFIX};

/// A file that was copied into place, and is not the one that was staged.
pub(super) struct Copied {
    pub(super) path: RelPath,
    pub(super) stamp: FileStamp,
}

/// Moves a file to its place, through a copy where that is on another volume.
pub(super) fn move_file(
    from: &Dir,
    staged: &[u8],
    to: &Dir,
    name: &[u8],
) -> Result<Option<Copied>, DiskError> {
    match from.rename(staged, to, name) {
        Err(error) if error.is(Errno::XDEV) => {}
        done => return done.map(|()| None),
    }
    let temporary = [TEMPORARY_PREFIX, name].concat();
    let temporary = &temporary[..temporary.len().min(255)];
    let path = to.path().join(name);
    let copied = copy(from, staged, to, temporary)
        .and_then(|stamp| to.rename(temporary, to, name).map(|()| stamp));
    let stamp = copied.map_err(|error| {
        // On a full volume it would be in its own way.
        to.remove_tree(temporary).ok();
        error.about(&path)
    })?;
    from.unlink(staged)?;
    Ok(Some(Copied { path, stamp }))
}

fn copy(from: &Dir, staged: &[u8], to: &Dir, temporary: &[u8]) -> Result<FileStamp, DiskError> {
    to.remove_tree(temporary)?;
    let stat = from.stat(staged)?;
    let mode = stat.map_or(0o644, |stat| stat.mode);
    let mut copy = to.create(temporary, mode)?;
    from.copy(staged, to, temporary, &mut copy)?;
    to.correct_file_mode(temporary, &copy, mode)?;
    to.sync_file(temporary, &copy)?;
    to.stat_file(temporary, &copy).map(|stat| stat.stamp)
}

/// What was moved file by file.
#[derive(Default)]
pub(super) struct DirMerge {
    pub(super) dirty: DirtyDirs,
    pub(super) copied: Vec<Copied>,
    pub(super) files: Vec<RelPath>,
}

impl DirMerge {
    /// Moves what is in a staged directory into a live one.
    pub(super) fn merge(&mut self, from: &Dir, parent: &Dir, name: &[u8]) -> Result<(), DiskError> {
        let to = match parent.open(name) {
            Err(error) if error.is(Errno::NOENT) => parent.make_dir(name, 0o755)?,
            opened => opened?,
        };
        self.dirty.add_open(&to);
        let mut entries = from.list()?;
        // Payload comes before `resource.json`, here too.
        entries.sort_by_key(|entry| *entry.name == *RESOURCE_MANIFEST);
        for entry in entries {
            if entry.file_type == FileType::Dir {
                self.merge(&from.open(&entry.name)?, &to, &entry.name)?;
            } else {
                self.copied.extend(move_file(from, &entry.name, &to, &entry.name)?);
                self.files.push(to.path().join(&entry.name));
            }
        }
        Ok(())
    }
}
