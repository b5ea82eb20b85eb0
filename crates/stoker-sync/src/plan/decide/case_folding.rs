//! Names that differ only in case, on a volume that ignores case.
//!
//! There a name that the commit dropped may be the file that it wants: `oven` that becomes `Oven`
//! is one file, not a deletion and an addition. Deleting the one would lose the other.

use std::collections::HashMap;

use crate::compose::Case;
use crate::path::{self, RelPath};
use crate::plan::draft::DirDraft;
use crate::reserved;

/// How a run spells what it writes, by the names that a volume takes for one. Empty where case
/// matters.
#[derive(Debug, Default)]
pub(super) struct CaseFolding(HashMap<String, (RelPath, Role)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    File,
    Dir,
}

/// A live path as the run spells it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FoldedPath {
    pub(super) path: RelPath,
    /// Whether the run writes a file there.
    pub(super) is_wanted: bool,
    /// What is spelled otherwise, outermost first.
    pub(super) differing: Vec<RelPath>,
}

impl CaseFolding {
    pub(super) fn of(drafts: &[DirDraft], case: Case) -> Self {
        let mut wanted = HashMap::new();
        let is_at_work = |draft: &&DirDraft| case == Case::Ignored && !draft.candidates.is_empty();
        for draft in drafts.iter().filter(is_at_work) {
            for file in &draft.candidates {
                let path = draft.path.join(&file.name);
                wanted.insert(reserved::fold(&path), (path, Role::File));
            }
            for dir in ways(&draft.path) {
                wanted.insert(reserved::fold(dir), (RelPath::from_clean(dir), Role::Dir));
            }
        }
        Self(wanted)
    }

    /// Spells a live path as the run does, as far as the run has anything there.
    pub(super) fn fold_path(&self, live: &RelPath) -> FoldedPath {
        let known = |way: &[u8]| self.0.get(&reserved::fold(way)).map(|found| (way.len(), found));
        let found = if self.0.is_empty() { None } else { ways(live).filter_map(known).last() };
        let Some((length, (spelled, role))) = found else {
            return FoldedPath { path: live.clone(), is_wanted: false, differing: Vec::new() };
        };
        let both = ways(live).zip(ways(spelled));
        let differing = both.filter(|(live, new)| path::file_name(live) != path::file_name(new));
        let differing = differing.map(|(_, new)| RelPath::from_clean(new)).collect();
        let is_wanted = length == live.len() && *role == Role::File;
        let path = spelled.join(path::below(live, &live[..length]).unwrap_or_default());
        FoldedPath { path, is_wanted, differing }
    }
}

/// Every directory above a path, the root first, and the path itself.
fn ways(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path::ancestors(path).chain(std::iter::once(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(path: &str) -> RelPath {
        RelPath::parse(path).unwrap()
    }

    fn case_folding(files: &[&str]) -> CaseFolding {
        let mut wanted = HashMap::new();
        for file in files {
            let dirs = path::ancestors(file.as_bytes()).map(RelPath::from_clean);
            wanted.extend(dirs.map(|dir| (reserved::fold(&dir), (dir, Role::Dir))));
            wanted.insert(reserved::fold(file.as_bytes()), (path(file), Role::File));
        }
        CaseFolding(wanted)
    }

    #[test]
    fn a_live_path_is_spelled_as_the_run_spells_it() {
        let case_folding = case_folding(&["projects/Oven/View.json", "projects/lamp"]);
        let cases = [
            ("projects/Oven/View.json", "projects/Oven/View.json", true, &[][..]),
            (
                "projects/Oven/view.json",
                "projects/Oven/View.json",
                true,
                &["projects/Oven/View.json"],
            ),
            (
                "projects/oven/VIEW.json",
                "projects/Oven/View.json",
                true,
                &["projects/Oven", "projects/Oven/View.json"],
            ),
            ("projects/oven/gone", "projects/Oven/gone", false, &["projects/Oven"]),
            ("projects/OVEN", "projects/Oven", false, &["projects/Oven"]),
            ("projects/Lamp/in/it", "projects/lamp/in/it", false, &["projects/lamp"]),
            ("config/x", "config/x", false, &[]),
        ];
        for (live, spelled, is_wanted, differing) in cases {
            let differing = differing.iter().map(|way| path(way)).collect();
            let expected = FoldedPath { path: path(spelled), is_wanted, differing };
            assert_eq!(case_folding.fold_path(&path(live)), expected, "{live}");
        }
    }

    #[test]
    fn where_case_matters_nothing_is_respelled() {
        let as_it_is = CaseFolding::default().fold_path(&path("projects/oven"));
        assert_eq!(as_it_is.path, path("projects/oven"));
        assert!(!as_it_is.is_wanted && as_it_is.differing.is_empty());
    }
}
