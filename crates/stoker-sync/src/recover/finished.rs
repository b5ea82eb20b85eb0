//! What a run brought that had ended early, told by the one that finished it.

use std::collections::HashMap;

use crate::journal::{Step, graft_of};
use crate::manifest::Manifest;
use crate::manifest::record::{DirChange, DirPatch};
use crate::path::RelPath;
use crate::plan::{Action, Change};

/// A run that had ended early and is finished now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// The commit that was live before it, if there was one.
    pub previous_commit: Option<String>,
    /// What it changed, sorted by path.
    pub changes: Vec<Change>,
}

/// Returns what steps have changed; their patches say what they brought.
pub(super) fn changes<'s>(
    steps: impl Iterator<Item = &'s Step>,
    patches: &[DirPatch],
    last: Option<&Manifest>,
) -> Vec<Change> {
    let (mut changes, mut grafts, mut files) = (Vec::new(), Vec::new(), HashMap::new());
    for step in steps {
        match step {
            Step::Delete { path, .. } => changes.push(change(path.clone(), Action::Delete, 0)),
            Step::Graft { to, .. } => grafts.push(to.clone()),
            Step::Place { to, .. } => drop(files.insert(to, Action::Modify)),
            Step::Mode { path, .. } => drop(files.insert(path, Action::Mode)),
            Step::Clear { .. } | Step::RemoveDir { .. } | Step::Respell { .. } => {}
        }
    }
    grafts.sort();
    for DirPatch { path: dir, change: brought } in patches {
        let DirChange::Known { upserts, .. } = brought else { continue };
        let is_grafted = grafts.binary_search(dir).is_ok() || graft_of(&grafts, dir).is_some();
        let known = last.and_then(|last| last.dir(dir)).unwrap_or_default();
        for record in upserts {
            let path = dir.join(&record.name);
            let action = match files.get(&path) {
                Some(Action::Modify) if known.file(&record.name).is_none() => Action::Add,
                Some(action) => *action,
                None if is_grafted => Action::Add,
                None => continue,
            };
            let bytes = if action == Action::Mode { 0 } else { record.stat.size };
            changes.push(change(path, action, bytes));
        }
    }
    changes.sort_by(|one, other| one.path.cmp(&other.path));
    changes
}

fn change(path: RelPath, action: Action, bytes: u64) -> Change {
    Change { path, action, bytes, mapping: None, source: None }
}
