//! Moving what is staged to where it belongs, also where a rename can't.

use rustix::io::Errno;

use super::touched::Touched;
use crate::disk::{Dir, DiskError, Nature};
use crate::manifest::record::Stat;
use crate::name::{RESOURCE_MANIFEST, TEMPORARY_PREFIX};
use crate::path::RelPath;

/// A file that was copied into place, and is not the one that was staged.
pub(super) struct Copied {
    pub(super) path: RelPath,
    pub(super) stat: Stat,
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
    let copied = copy(from, staged, (to, temporary))
        .and_then(|stat| to.rename(temporary, to, name).map(|()| stat));
    let stat = copied.map_err(|error| {
        // On a full volume it would be in its own way.
        to.remove_tree(temporary).ok();
        error.about(&path)
    })?;
    from.unlink(staged)?;
    Ok(Some(Copied { path, stat }))
}

fn copy(from: &Dir, staged: &[u8], (to, temporary): (&Dir, &[u8])) -> Result<Stat, DiskError> {
    to.remove_tree(temporary)?;
    let look = from.look(staged)?;
    let mode = look.map_or(0o644, |look| look.mode);
    let mut copy = to.create(temporary, mode)?;
    from.copy(staged, to, (temporary, &mut copy))?;
    to.correct_file_mode(temporary, &copy, mode)?;
    to.sync_file(temporary, &copy)?;
    to.look_at_file(temporary, &copy).map(|look| look.stat)
}

/// What was moved file by file.
#[derive(Default)]
pub(super) struct Merged {
    pub(super) touched: Touched,
    pub(super) copied: Vec<Copied>,
    pub(super) files: Vec<RelPath>,
}

impl Merged {
    /// Moves what is in a staged directory into a live one.
    pub(super) fn merge(&mut self, from: &Dir, parent: &Dir, name: &[u8]) -> Result<(), DiskError> {
        let to = match parent.open(name) {
            Err(error) if error.is(Errno::NOENT) => parent.make_dir(name, 0o755)?,
            opened => opened?,
        };
        self.touched.add_open(&to);
        let mut entries = from.list()?;
        // Payload comes before `resource.json`, here too.
        entries.sort_by_key(|entry| *entry.name == *RESOURCE_MANIFEST);
        for entry in entries {
            if entry.nature == Nature::Dir {
                self.merge(&from.open(&entry.name)?, &to, &entry.name)?;
            } else {
                self.copied.extend(move_file(from, &entry.name, &to, &entry.name)?);
                self.files.push(to.path().join(&entry.name));
            }
        }
        Ok(())
    }
}
