//! The way into planning: is there anything to do at all.

use super::View;
use super::course::Course;
use crate::cancel::Cancel;
use crate::compose::mount::{self, Mount};
use crate::plan::{Error, Plan, Work};
use crate::request::Request;
use crate::source::Source;
use crate::warning;

/// What planning goes by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Planning<'a> {
    pub(super) view: &'a View,
    pub(super) request: &'a Request,
    pub(super) cancel: &'a Cancel,
}

impl Planning<'_> {
    /// Plans.
    pub(super) fn run(&self, source: &mut dyn Source) -> Result<Plan, Error> {
        let last = self.view.manifest.header();
        if self.is_same_profile() && last.commit == self.request.commit {
            let mounts = mount::remembered(&self.request.mappings, &last.mappings);
            if Course::new(*self, &mounts, true).is_settled()? {
                return Ok(self.nothing());
            }
        }
        let sources = self.request.mappings.iter().map(|mapping| mapping.source.clone());
        source.expect(&sources.collect::<Vec<_>>());
        let mounts = mount::resolve(&self.request.mappings, source);
        let mounts = mounts.map_err(|source| Error::Compose { source })?;
        let goes_on = self.is_same_profile() && self.has_same_shapes(&mounts);
        Course::new(*self, &mounts, goes_on).run(source)
    }

    pub(super) fn is_same_profile(&self) -> bool {
        let manifest = &self.view.manifest;
        let shapes = manifest.header().mappings.iter().map(|mapping| mapping.shape);
        !manifest.is_absent() && manifest.header().profile == self.request.profile(shapes)
    }

    /// A source that comes or goes changes who owns what, as much as another profile does.
    fn has_same_shapes(&self, mounts: &[Mount]) -> bool {
        let last = self.view.manifest.header().mappings.iter().map(|mapping| mapping.shape);
        last.eq(mounts.iter().map(|mount| mount.content.shape()))
    }

    /// Returns the plan to leave everything as it is.
    pub(super) fn nothing(&self) -> Plan {
        let mut warnings = self.view.notices.clone();
        warnings.extend(self.view.manifest.header().warnings.iter().cloned());
        let foreign_kept = self.view.manifest.header().kept.clone();
        warnings.extend(warning::of_kept(&foreign_kept));
        Plan {
            changes: Vec::new(),
            unchanged: self.view.manifest.header().files,
            warnings,
            drift: Vec::new(),
            foreign_kept,
            withheld: None,
            previous_commit: self.view.commit().map(String::from),
            commit: self.request.commit.clone(),
            request: self.request.clone(),
            work: Work::default(),
        }
    }
}
