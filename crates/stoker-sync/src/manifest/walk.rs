//! Walks all directories of a manifest, or a range of them, in the order of their paths.
//!
//! A walk holds one page of each segment at a time.

use super::page::Page;
use super::record::DirPatch;
use super::segment::{Damaged, Segment};
use super::{DirRecord, Manifest, fold};

/// A part of the manifest, from one path to before another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PathRange<'a> {
    from: &'a [u8],
    to: Option<&'a [u8]>,
}

impl PathRange<'_> {
    pub(crate) const ALL: Self = Self { from: b"", to: None };
}

/// Where a walk is in one segment.
struct Cursor<'a> {
    segment: &'a Segment,
    next: usize,
    end: usize,
    /// The page with the next directory, and the position of its first one; `None` at the end.
    page: Option<(usize, Page)>,
}

impl Manifest {
    /// Divides the manifest into so many stretches of about the same size, or fewer.
    pub(crate) fn split(&self, count: usize) -> Vec<PathRange<'_>> {
        let page_starts: Vec<&[u8]> = match self.segments.first().map(Segment::page_starts) {
            Some(page_starts) => self.sound(page_starts.map(Iterator::collect)),
            None => Vec::new(),
        };
        let share = page_starts.len().div_ceil(count.max(1)).max(1);
        let bounds: Vec<&[u8]> = page_starts.into_iter().skip(share).step_by(share).collect();
        let begins = std::iter::once(&b""[..]).chain(bounds.iter().copied());
        let ends = bounds.iter().copied().map(Some).chain([None]);
        begins.zip(ends).map(|(from, to)| PathRange { from, to }).collect()
    }

    /// Calls `visit` with every known directory of a stretch, sorted by path.
    pub(crate) fn walk<E>(
        &self,
        range: PathRange<'_>,
        mut visit: impl FnMut(&[u8], DirRecord) -> Result<(), E>,
    ) -> Result<(), E> {
        let cursors = self.segments.iter().map(|segment| Cursor::new(segment, range));
        let mut cursors: Vec<Cursor<'_>> = self.sound(cursors.collect());
        let Some((first, later)) = cursors.split_first_mut() else { return Ok(()) };
        let mut path = Vec::new();
        // Nearly all directories are in the first segment only, so that one is asked each time, and
        // the others only when their turn has come.
        let mut patched = least(later);
        loop {
            let Some(next) = [first.path(), patched.as_deref()].into_iter().flatten().min() else {
                return Ok(());
            };
            path.clear();
            path.extend_from_slice(next);
            let mut record = None;
            self.sound(first.take(&path, &mut record));
            if patched.as_deref() == Some(&path) {
                for cursor in &mut *later {
                    self.sound(cursor.take(&path, &mut record));
                }
                patched = least(later);
            }
            if let Some(record) = record {
                visit(&path, record)?;
            }
        }
    }
}

fn least(cursors: &[Cursor<'_>]) -> Option<Vec<u8>> {
    cursors.iter().filter_map(Cursor::path).min().map(<[u8]>::to_vec)
}

impl<'a> Cursor<'a> {
    fn new(segment: &'a Segment, PathRange { from, to }: PathRange<'_>) -> Result<Self, Damaged> {
        let next = segment.lower_bound(from)?;
        let end = to.map_or_else(|| segment.len(), |to| segment.lower_bound(to))?;
        let mut cursor = Self { segment, next, end, page: None };
        cursor.turn()?;
        Ok(cursor)
    }

    fn path(&self) -> Option<&[u8]> {
        let (begin, page) = self.page.as_ref()?;
        page.entry(self.next - begin).map(|(path, _)| path)
    }

    /// Folds what the segment says about a directory, if it is the next one, and goes on.
    fn take(&mut self, path: &[u8], folded: &mut Option<DirRecord>) -> Result<(), Damaged> {
        let entry = self.page.as_ref().and_then(|(begin, page)| page.entry(self.next - begin));
        let Some((_, mut reader)) = entry.filter(|(found, _)| *found == path) else {
            return Ok(());
        };
        let change = DirPatch::unpack_change(&mut reader);
        self.next += 1;
        self.turn()?;
        fold(folded, change.ok_or(Damaged)?);
        Ok(())
    }

    /// Reads the page of the next directory, if that is another one. Even if it can't be read the
    /// walk comes to an end.
    fn turn(&mut self) -> Result<(), Damaged> {
        if self.next >= self.end {
            self.page = None;
        } else if self.page.as_ref().is_none_or(|(begin, page)| self.next - begin >= page.len()) {
            self.page = None;
            self.page = Some(self.segment.read_page(self.next)?);
        }
        Ok(())
    }
}
