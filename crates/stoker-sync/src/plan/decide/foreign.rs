//! Foreign files, which no sync brought. A few are deleted; a whole project that a person made on
//! the gateway is kept until its deletion is confirmed.

use std::collections::HashSet;

use super::Deciding;
use crate::compose::Case;
use crate::path::{self, RelPath};
use crate::plan::draft::{DirDraft, DirState};
use crate::plan::{DriftKind, Error};
use crate::request::Deletion;
use crate::reserved;

/// So many of them are not deleted without confirmation.
const MANY: usize = 10;
const PROJECTS: &[u8] = b"projects";

impl Deciding<'_> {
    /// Keeps all files that no sync brought, if there are many of them or one belongs to a project
    /// that the commit does not have.
    pub(super) fn keep_foreign(&mut self, drafts: &[DirDraft]) {
        if self.orphans.is_empty() || self.input.request.deletion.is_confirmed() {
            return;
        }
        if self.orphans.len() < MANY && !self.is_project_at_stake(drafts) {
            return;
        }
        self.orphans.clear();
        let foreign = std::mem::take(&mut self.foreign);
        let (kept, others): (Vec<_>, Vec<_>) =
            foreign.into_iter().partition(|file| file.kind == DriftKind::Foreign);
        self.foreign = others;
        self.out.kept = kept.into_iter().map(|file| file.path).collect();
    }

    /// Stops a run of another repository than the last one's that would delete files of that run.
    pub(super) fn check_repository(&self) -> Result<(), Error> {
        let (Some(now), Some(last)) = (&self.input.request.origin, &self.input.last.origin) else {
            return Ok(());
        };
        let is_confirmed = self.input.request.deletion == Deletion::Unlimited;
        if is_confirmed || self.dropped.is_empty() || now.is_same_repository(last) {
            return Ok(());
        }
        let (last, now) = (last.repository.clone(), now.repository.clone());
        Err(Error::OtherRepository { last, now, files: self.dropped.len() as u64 })
    }

    /// Returns whether a file that would go belongs to a project that the commit does not have.
    fn is_project_at_stake(&self, drafts: &[DirDraft]) -> bool {
        let projects: HashSet<&[u8]> = self.orphans.iter().filter_map(project_of).collect();
        projects.into_iter().any(|project| !self.has_project(project, drafts))
    }

    fn has_project(&self, project: &[u8], drafts: &[DirDraft]) -> bool {
        let folded = match self.input.ownership.case() {
            Case::Matters => None,
            Case::Ignored => Some(reserved::fold(project)),
        };
        let is_in_it = |draft: &&DirDraft| match &folded {
            None => path::within(&draft.path, project),
            Some(project) => {
                path::within(reserved::fold(&draft.path).as_bytes(), project.as_bytes())
            }
        };
        let mut is_seen = false;
        for draft in drafts.iter().filter(is_in_it) {
            if draft.state == DirState::Wanted {
                return true;
            }
            is_seen = true;
        }
        // What this run does not check is as the last one left it.
        !is_seen && !self.input.manifest.dirs_within(project).is_empty()
    }
}

/// Returns the directory of the project that a file belongs to.
fn project_of(path: &RelPath) -> Option<&[u8]> {
    let below = path::below(path, PROJECTS)?;
    let name = below.iter().position(|byte| *byte == b'/')?;
    Some(&path[..PROJECTS.len() + 1 + name])
}
