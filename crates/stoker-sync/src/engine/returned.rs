//! Mappings whose source was absent for a while, and is there again.

use std::collections::BTreeSet;

use super::course::Course;
use crate::compose::mount::{Content, Mount};
use crate::manifest::header::Shape;
use crate::path::RelPath;

impl Course<'_> {
    /// Files of ours that nobody has cared for since: what is known of them proves nothing.
    pub(super) fn returned(&self) -> BTreeSet<RelPath> {
        let manifest = &self.planning.view.manifest;
        let mut files = BTreeSet::new();
        for mount in self.mounts.iter().filter(|mount| self.was_absent(mount)) {
            // A mapping of a file is known to the directory that it is in.
            let above = mount.destination.parent();
            let mut dirs = vec![above.as_bytes()];
            dirs.extend(manifest.dirs_within(&mount.destination));
            for dir in dirs {
                let known = manifest.dir(dir).unwrap_or_default().files;
                let held = known.iter().filter(|file| file.mapping == mount.mapping);
                files.extend(held.map(|file| RelPath::from_clean(dir).join(&file.name)));
            }
        }
        files
    }

    fn was_absent(&self, mount: &Mount) -> bool {
        let mapping = &self.planning.request.mappings[usize::from(mount.mapping)];
        let mut last = self.planning.view.manifest.header().mappings.iter();
        mount.content != Content::Absent
            && last.any(|last| last.shape == Shape::Absent && last.is_of(mapping))
    }
}
