//! What a run did.

use std::collections::BTreeSet;

use crate::path::{self, RelPath};
use crate::plan::{Action, Change, Drifted};
use crate::warning::Warning;

/// How many paths of each kind a report lists.
pub const MOST_LISTED: usize = 100;

/// What a run did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The commit that the files were of before, if there was one.
    pub previous_commit: Option<String>,
    /// All that it changed, sorted by path.
    pub changes: Vec<Change>,
    /// Files that were not there.
    pub added: Listed,
    /// Files with other bytes or permissions.
    pub modified: Listed,
    /// Files that went.
    pub deleted: Listed,
    /// How many files stayed as they were.
    pub unchanged: u64,
    /// How many bytes of content were written.
    pub bytes_written: u64,
    /// The projects in which something changed, sorted.
    pub projects: Vec<String>,
    /// Files that were changed on the gateway; repaired unless the policy was to report.
    pub drift: Vec<Drifted>,
    /// Files in owned directories that no sync brought and that were kept; drift until they are
    /// removed or their deletion is confirmed.
    pub foreign_kept: Listed,
    /// What people should know.
    pub warnings: Vec<Warning>,
}

/// Paths, of which only the first are listed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listed {
    /// How many there are.
    pub count: u64,
    /// The first of them, sorted.
    pub paths: Vec<RelPath>,
}

impl Listed {
    /// Returns whether more paths are counted than listed.
    pub fn is_truncated(&self) -> bool {
        self.count > self.paths.len() as u64
    }

    /// Lists the first of some paths, which must be sorted.
    pub(crate) fn first<'a>(
        paths: impl ExactSizeIterator<Item = &'a RelPath>,
        most: usize,
    ) -> Self {
        Self { count: paths.len() as u64, paths: paths.take(most).cloned().collect() }
    }

    /// Lists the changes of these kinds.
    pub fn of(changes: &[Change], actions: &[Action]) -> Self {
        let hits = || changes.iter().filter(|change| actions.contains(&change.action));
        Self {
            count: hits().count() as u64,
            paths: hits().take(MOST_LISTED).map(|change| change.path.clone()).collect(),
        }
    }
}

/// Returns the projects that changes lie in, sorted.
pub fn projects_of(changes: &[Change]) -> Vec<String> {
    let project = |change: &Change| {
        let below = path::below(&change.path, b"projects")?;
        let (name, _) = below.split_at_checked(below.iter().position(|byte| *byte == b'/')?)?;
        Some(path::Quoted(name).to_string())
    };
    changes.iter().filter_map(project).collect::<BTreeSet<_>>().into_iter().collect()
}
