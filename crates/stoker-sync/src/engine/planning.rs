#![expect(clippy::disallowed_methods, reason = "times the phases of a plan for the report")]
//! The way into planning: is there anything to do at all, and how long does it take to say.

use std::time::{Duration, Instant};

use super::View;
use super::course::Course;
use crate::cancel::Cancel;
use crate::compose::mount::{self, Mount};
use crate::path::RelPath;
use crate::plan::{Error, Plan, Work};
use crate::report::Durations;
use crate::request::Request;
use crate::source::{self, Entry, ObjectId, Sink, Source};
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
        let begin = Instant::now();
        let mut source = Timed { source, spent: Duration::ZERO };
        let mut plan = self.plan(&mut source)?;
        plan.durations.fetch = source.spent;
        plan.durations.plan = begin.elapsed().saturating_sub(source.spent);
        Ok(plan)
    }

    fn plan(&self, source: &mut dyn Source) -> Result<Plan, Error> {
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
            durations: Durations::default(),
            work: Work::default(),
        }
    }
}

/// A source that knows how long it was asked.
struct Timed<'a> {
    source: &'a mut dyn Source,
    spent: Duration,
}

impl Timed<'_> {
    fn time<T>(&mut self, ask: impl FnOnce(&mut dyn Source) -> T) -> T {
        let begin = Instant::now();
        let answer = ask(self.source);
        self.spent += begin.elapsed();
        answer
    }
}

impl Source for Timed<'_> {
    fn expect(&mut self, directories: &[RelPath]) {
        self.source.expect(directories);
    }

    fn root(&mut self) -> Result<ObjectId, source::Error> {
        self.time(|source| source.root())
    }

    fn list(&mut self, trees: &[ObjectId]) -> Result<Vec<Vec<Entry>>, source::Error> {
        self.time(|source| source.list(trees))
    }

    fn fetch(&mut self, blobs: &[ObjectId]) -> Result<Vec<u64>, source::Error> {
        self.time(|source| source.fetch(blobs))
    }

    fn read(&mut self, blobs: &[ObjectId], sink: &mut Sink<'_>) -> Result<(), source::Error> {
        self.time(|source| source.read(blobs, sink))
    }
}
