//! Checks the whole tree in parts. Each thread takes the next part when it is free.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::dir_cursor::DirCursor;
use super::{Error, Findings, Inspection};
use crate::manifest::{DirRecord, PathRange};

/// Files below which a second thread costs more than it brings.
const WORTH_A_THREAD: u64 = 4_000;
/// Into how many parts a large directory is divided: few enough to cost nothing, and enough for two
/// threads to end at about the same time, however unequal their processors are.
const PARTS: usize = 32;

pub(crate) struct ParallelInspection<'a> {
    inspection: Inspection<'a>,
    /// Computed by the first thread: finding them reads a part of the manifest.
    ranges: OnceLock<Vec<PathRange<'a>>>,
    next: AtomicUsize,
    is_abandoned: AtomicBool,
}

impl<'a> ParallelInspection<'a> {
    pub(crate) fn new(inspection: Inspection<'a>) -> Self {
        Self {
            inspection,
            ranges: OnceLock::new(),
            next: AtomicUsize::new(0),
            is_abandoned: AtomicBool::new(false),
        }
    }

    pub(crate) fn is_worth_a_thread(&self) -> bool {
        self.inspection.manifest.header().files >= WORTH_A_THREAD
    }

    pub(crate) fn run(&self) -> Result<Findings, Error> {
        if self.is_worth_a_thread() { self.share(|| ()) } else { self.take_part() }
    }

    /// Looks at everything, on another thread at once and on this one when `first` is done.
    pub(crate) fn share(&self, first: impl FnOnce()) -> Result<Findings, Error> {
        thread::scope(|scope| {
            let other = scope.spawn(|| self.take_part());
            first();
            let own = self.take_part();
            let other = other.join().expect("checking files does not panic");
            let (mut findings, others) = (own?, other?);
            findings.suspects.extend(others.suspects);
            findings.foreign.extend(others.foreign);
            Ok(findings)
        })
    }

    /// Ends the check early; its findings are incomplete.
    pub(crate) fn abandon(&self) {
        self.is_abandoned.store(true, Ordering::Relaxed);
    }

    /// Takes one part after the other until none is left.
    fn take_part(&self) -> Result<Findings, Error> {
        let mut findings = Findings::default();
        let taken = self.take_parts(&mut findings);
        // The rest of a check that failed is not needed.
        taken.inspect_err(|_| self.abandon()).map(|()| findings)
    }

    fn take_parts(&self, findings: &mut Findings) -> Result<(), Error> {
        while !self.is_abandoned.load(Ordering::Relaxed) {
            let part = self.next.fetch_add(1, Ordering::Relaxed);
            let ranges = self.ranges();
            match ranges.get(part) {
                Some(range) => self.look_along(*range, findings)?,
                None if part == ranges.len() => self.look_into_roots(findings)?,
                None => break,
            }
        }
        Ok(())
    }

    fn ranges(&self) -> &[PathRange<'a>] {
        let parts = if self.is_worth_a_thread() { PARTS } else { 1 };
        self.ranges.get_or_init(|| self.inspection.manifest.split(parts))
    }

    fn look_along(&self, range: PathRange<'_>, findings: &mut Findings) -> Result<(), Error> {
        let Inspection { root, manifest, cancel, .. } = self.inspection;
        let mut cursor = DirCursor::new(root);
        let walked = manifest.walk(range, |path, record| {
            if self.is_abandoned.load(Ordering::Relaxed) {
                return Err(None);
            }
            cancel.check().map_err(|cancelled| Some(Error::Cancelled(cancelled)))?;
            self.inspection.check_dir(&mut cursor, path, &record, findings).map_err(Some)
        });
        walked.or_else(|failed| failed.map_or(Ok(()), Err))
    }

    /// Looks into the owned directories that nothing was put in.
    fn look_into_roots(&self, findings: &mut Findings) -> Result<(), Error> {
        let Inspection { root, manifest, ownership, .. } = self.inspection;
        for path in ownership.pruned_roots() {
            if manifest.key(path).is_some() {
                continue;
            }
            match root.open(path) {
                Ok(dir) => self.inspection.find_foreign(&dir, &DirRecord::default(), findings)?,
                Err(error) if error.is_out_of_reach() => {}
                Err(source) => return Err(Error::Read { source }),
            }
        }
        Ok(())
    }
}
