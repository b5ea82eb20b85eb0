//! What a run should do: mappings with their values filled in, excludes, and policies.
//!
//! The caller renders templates in paths and patch values. The engine renders file contents, from
//! `values`.

use std::collections::BTreeMap;

use stoker_text::glob::{Excludes, Glob};

use crate::hash::Fingerprint;
use crate::manifest::header::Shape;
use crate::manipulate::Values;
use crate::path::RelPath;
use crate::source::ObjectId;

/// Raised when the rules of the planner or `reserved.rs` change, so that the next run checks everything once.
const RULES: &str = "stoker rules 3";

/// Everything a run needs to know besides the source.
#[derive(Debug, Clone)]
pub struct Request {
    /// The commit, or a label for a working directory. Equal commits hold equal trees.
    pub commit: String,
    /// The mappings, in order: where two put a file at one place, the later wins.
    pub mappings: Vec<Mapping>,
    /// Paths that are neither written nor deleted.
    pub excludes: Excludes,
    /// What templates in files may refer to.
    pub values: Values,
    /// How many files a run may delete without confirmation.
    pub deletion: Deletion,
    /// What happens to a run that would delete more.
    pub excess: Excess,
    /// How much a run checks beyond what the commit changed.
    pub drift_check: DriftCheck,
    /// What happens to files that differ from the last sync.
    pub drift: DriftPolicy,
    /// Whether there is a gateway, so that scans are recorded as owed.
    pub scan_tracking: ScanTracking,
    /// Where the commit comes from, where a change of that has to be confirmed.
    pub origin: Option<Box<Origin>>,
}

/// Where a commit comes from, as people know it. No credentials in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The URL of the repository.
    pub repository: String,
    /// The ref that was asked for.
    pub reference: String,
    /// The process that asked for it, and its host.
    pub process: String,
}

/// A part of the source and its place below the data root.
#[derive(Debug, Clone)]
pub struct Mapping {
    /// The path in the source; the root means all of it.
    pub source: RelPath,
    /// The path below the data root; the root means the data directory itself.
    pub destination: RelPath,
    /// What the source must be.
    pub kind: MappingKind,
    /// What an absent source means.
    pub presence: Presence,
    /// Whether foreign files in the destination go.
    pub prune: Prune,
    /// Whether file contents are templates.
    pub template: Templating,
    /// Changes to JSON files, in order.
    pub patches: Vec<Patch>,
}

/// What the source of a mapping must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MappingKind {
    /// Whatever the source is.
    Inferred,
    /// A directory.
    Dir,
    /// A file that becomes the destination.
    File,
    /// A file that is put into the destination directory (`FILE:DIR/`); a directory as it is.
    IntoDir,
}

/// What an absent source means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// An error.
    Required,
    /// A warning; the destination is left alone.
    Optional,
}

/// Whether foreign files in a mapped directory go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prune {
    /// Whatever the commit does not hold goes.
    Foreign,
    /// Only what an earlier sync brought goes.
    OwnOnly,
}

/// Whether file contents are templates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Templating {
    /// Text files are rendered.
    On,
    /// Files are copied.
    Off,
}

/// A change to the JSON files that match.
#[derive(Debug, Clone)]
pub struct Patch {
    /// Matches paths below the mapping's destination; absent for the file of a file mapping.
    pub file: Option<Glob>,
    /// Paths into the document and their new values, templates already rendered.
    pub set: BTreeMap<String, String>,
}

/// How many files a run may delete without confirmation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// Any number.
    Unlimited,
    /// No more than this share of a mapping, in percent, and never all of it; 100 means any number.
    Percent(u8),
}

/// What happens to a run that would delete more files than it may without confirmation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// It stops, and nothing is done.
    Stops,
    /// It goes on without the deletions.
    Withheld,
}

/// How much a run checks beyond what the commit changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriftCheck {
    /// At what it touches only.
    Touched,
    /// At every managed file, by size, time and inode; and for foreign files.
    Stat,
    /// At every managed file, by content; and for foreign files.
    Content,
}

/// What happens to files that differ from the last sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriftPolicy {
    /// They are put right and named.
    Repair,
    /// They are named.
    Report,
}

/// Whether there is a gateway that scans changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanTracking {
    /// A changed half is owed a scan until [`crate::Engine::record_scanned`] says otherwise.
    On,
    /// There is no gateway, so no scan is owed.
    Off,
}

impl Request {
    /// Makes a request with the defaults: half may be deleted, drift is repaired where it is met.
    pub fn new(commit: impl Into<String>, mappings: Vec<Mapping>) -> Self {
        Self {
            commit: commit.into(),
            mappings,
            excludes: Excludes::default(),
            values: Values::default(),
            deletion: Deletion::Percent(50),
            excess: Excess::Stops,
            drift_check: DriftCheck::Touched,
            drift: DriftPolicy::Repair,
            scan_tracking: ScanTracking::Off,
            origin: None,
        }
    }

    /// Returns whether a mapping may change the bytes of its files.
    pub(crate) fn manipulates(&self, mapping: u16) -> bool {
        let mapping = self.mappings.get(usize::from(mapping));
        mapping.is_some_and(|mapping| {
            mapping.template == Templating::On || !mapping.patches.is_empty()
        })
    }

    /// Returns what must be equal for directories of the last sync to be trusted unseen.
    ///
    /// Values that only change the content of files are not in it: those are kept per file. The
    /// shapes of the sources are, because a slash behind a destination means something to a file
    /// only.
    pub(crate) fn profile(&self, shapes: impl IntoIterator<Item = Shape>) -> ObjectId {
        let mut fingerprint = Fingerprint::new(RULES);
        let mut shapes = shapes.into_iter();
        for mapping in &self.mappings {
            mapping.describe(shapes.next(), &mut fingerprint);
        }
        fingerprint.add(format!("{:?}", self.excludes).as_bytes());
        fingerprint.finish()
    }
}

impl Deletion {
    /// Returns whether every deletion is confirmed, that of files that no sync brought included.
    pub(crate) fn is_confirmed(self) -> bool {
        matches!(self, Self::Unlimited | Self::Percent(100..))
    }
}

impl Origin {
    /// Returns whether both name one repository. A slash or `.git` at the end means nothing.
    pub fn is_same_repository(&self, other: &Self) -> bool {
        fn essence(url: &str) -> &str {
            let url = url.trim_end_matches('/');
            url.strip_suffix(".git").unwrap_or(url)
        }
        essence(&self.repository) == essence(&other.repository)
    }
}

impl Mapping {
    /// Makes a required, pruning mapping, as `--map` does.
    pub fn new(source: RelPath, destination: RelPath) -> Self {
        Self {
            source,
            destination,
            kind: MappingKind::Inferred,
            presence: Presence::Required,
            prune: Prune::Foreign,
            template: Templating::Off,
            patches: Vec::new(),
        }
    }

    /// What must be as it was for the last sync to be trusted; not for people.
    fn describe(&self, shape: Option<Shape>, fingerprint: &mut Fingerprint) {
        // Without `..`, so that a new field can't be forgotten here.
        let Self { source, destination, kind, presence, prune, template, patches } = self;
        fingerprint.add(source);
        fingerprint.add(destination);
        let kind = match *kind {
            MappingKind::IntoDir if shape != Some(Shape::File) || destination.is_root() => {
                MappingKind::Inferred
            }
            kind => kind,
        };
        let flags = format!("{kind:?} {presence:?} {prune:?} {template:?}");
        fingerprint.add(flags.as_bytes());
        // What a patch sets only changes the content of files, which is kept per file.
        for Patch { file, set: _ } in patches {
            fingerprint.add(file.as_ref().map_or("", Glob::as_str).as_bytes());
        }
    }
}
