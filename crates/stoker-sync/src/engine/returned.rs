//! Mappings whose source was absent for a while, and is there again.

use std::collections::BTreeSet;

use super::course::Course;
use crate::compose::mount::{Content, Mount};
use crate::manifest::header::{MappingRecord, Shape};
use crate::path::RelPath;

impl Course<'_> {
    /// Files of ours that nobody has cared for since: what is known of them proves nothing.
    pub(super) fn returned(&self) -> BTreeSet<RelPath> {
        let manifest = &self.planning.view.manifest;
        let mut files = BTreeSet::new();
        for mount in self.mounts {
            let Some(number) = self.absent_number(mount) else { continue };
            // A mapping of a file is known to the directory that it is in.
            let above = mount.destination.parent();
            let mut dirs = vec![above.as_bytes()];
            dirs.extend(manifest.dirs_within(&mount.destination));
            for dir in dirs {
                let known = manifest.dir(dir).unwrap_or_default().files;
                let held = known.iter().filter(|file| usize::from(file.mapping) == number);
                files.extend(held.map(|file| RelPath::from_clean(dir).join(&file.name)));
            }
        }
        files
    }

    /// The number that a mapping had in the last sync, if its source was absent then and is not now.
    fn absent_number(&self, mount: &Mount) -> Option<usize> {
        let mapping = &self.planning.request.mappings[usize::from(mount.mapping)];
        let last = &self.planning.view.manifest.header().mappings;
        let was_absent = |last: &MappingRecord| last.shape == Shape::Absent && last.is_of(mapping);
        last.iter().position(was_absent).filter(|_| mount.content != Content::Absent)
    }
}
