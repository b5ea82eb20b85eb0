//! All directories of a manifest in the order of their paths, or a stretch of them.

use super::record::DirPatch;
use super::segment::{Damaged, Segment};
use super::{DirRecord, Manifest, fold};

/// A part of the manifest, from one path to before another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch<'a> {
    from: &'a [u8],
    to: Option<&'a [u8]>,
}

impl Stretch<'_> {
    /// The whole manifest.
    pub(crate) const ALL: Self = Self { from: b"", to: None };
}

/// Where a walk is in one segment.
struct Cursor<'a> {
    segment: &'a Segment,
    next: usize,
    end: usize,
    /// The path at `next`; `None` at the end.
    path: Option<&'a [u8]>,
}

impl Manifest {
    /// Divides the manifest into so many stretches of about the same size, or fewer.
    pub(crate) fn stretches(&self, count: usize) -> Vec<Stretch<'_>> {
        let landmarks: Vec<&[u8]> = match self.segments.first().map(Segment::landmarks) {
            Some(landmarks) => self.sound(landmarks.map(Iterator::collect)),
            None => Vec::new(),
        };
        let share = landmarks.len().div_ceil(count.max(1)).max(1);
        let mut bounds: Vec<&[u8]> = landmarks.into_iter().skip(share).step_by(share).collect();
        bounds.dedup();
        let begins = std::iter::once(&b""[..]).chain(bounds.iter().copied());
        let ends = bounds.iter().copied().map(Some).chain([None]);
        begins.zip(ends).map(|(from, to)| Stretch { from, to }).collect()
    }

    /// Calls `visit` with every known directory of a stretch, sorted by path.
    pub(crate) fn walk<'a, E>(
        &'a self,
        stretch: Stretch<'_>,
        mut visit: impl FnMut(&'a [u8], DirRecord) -> Result<(), E>,
    ) -> Result<(), E> {
        let cursors = self.segments.iter().map(|segment| Cursor::new(segment, stretch));
        let mut cursors: Vec<Cursor<'_>> = self.sound(cursors.collect());
        // Nearly all directories are in the first segment only, so that one is asked each time, and
        // the others only when their turn has come.
        let mut patched = least(cursors.get(1..).unwrap_or_default());
        loop {
            let first = cursors.first().and_then(|cursor| cursor.path);
            let Some(path) = [first, patched].into_iter().flatten().min() else { return Ok(()) };
            let count = if patched == Some(path) { cursors.len() } else { 1 };
            let record = self.sound(take(&mut cursors[..count], path));
            if count > 1 {
                patched = least(&cursors[1..]);
            }
            if let Some(record) = record {
                visit(path, record)?;
            }
        }
    }
}

fn least<'a>(cursors: &[Cursor<'a>]) -> Option<&'a [u8]> {
    cursors.iter().filter_map(|cursor| cursor.path).min()
}

/// Folds what these segments say about a directory, and goes on to the next.
fn take(cursors: &mut [Cursor<'_>], path: &[u8]) -> Result<Option<DirRecord>, Damaged> {
    let mut folded = None;
    for cursor in cursors.iter_mut().filter(|cursor| cursor.path == Some(path)) {
        let entry = cursor.segment.entry(cursor.next);
        // Even if this one can't be read the walk must come to an end.
        cursor.next += 1;
        cursor.path = None;
        let (_, mut reader) = entry?;
        fold(&mut folded, DirPatch::unpack_change(&mut reader).ok_or(Damaged)?);
        cursor.look()?;
    }
    Ok(folded)
}

impl<'a> Cursor<'a> {
    fn new(segment: &'a Segment, Stretch { from, to }: Stretch<'_>) -> Result<Self, Damaged> {
        let next = segment.lower_bound(from)?;
        let end = to.map_or_else(|| segment.len(), |to| segment.lower_bound(to))?;
        let mut cursor = Self { segment, next, end, path: None };
        cursor.look()?;
        Ok(cursor)
    }

    fn look(&mut self) -> Result<(), Damaged> {
        if self.next < self.end {
            self.path = Some(self.segment.entry(self.next)?.0);
        }
        Ok(())
    }
}
