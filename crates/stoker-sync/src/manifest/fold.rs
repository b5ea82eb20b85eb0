//! From changes to records, and back.

use super::DirRecord;
use super::record::DirChange;

/// Returns the change that leads from one record of a directory to another.
pub(super) fn difference(from: Option<DirRecord>, to: Option<DirRecord>) -> Option<DirChange> {
    let Some(to) = to else { return from.map(|_| DirChange::Forgotten) };
    let from = from.unwrap_or_default();
    let removals = from.files.iter().filter(|file| to.file(&file.name).is_none());
    let removals = removals.map(|file| file.name.clone()).collect();
    let mut upserts = to.files;
    upserts.retain(|file| from.file(&file.name) != Some(file));
    Some(DirChange::Known { key: to.key, seal: to.seal, upserts, removals })
}

pub(super) fn fold(folded: &mut Option<DirRecord>, change: DirChange) {
    let DirChange::Known { key, seal, upserts, removals } = change else {
        *folded = None;
        return;
    };
    let dir = folded.get_or_insert_default();
    dir.key = key;
    dir.seal = seal;
    if dir.files.is_empty() {
        dir.files = upserts;
        return;
    }
    dir.files.retain(|file| removals.binary_search(&file.name).is_err());
    dir.files.extend(upserts);
    // The sort is stable, so of two records of one file the newer comes second.
    dir.files.sort_by(|one, other| one.name.cmp(&other.name));
    dir.files.dedup_by(|newer, older| {
        let is_same = newer.name == older.name;
        if is_same {
            std::mem::swap(newer, older);
        }
        is_same
    });
}
