//! One file of the manifest: a header, patches to directories, and the steps that made them true.
//!
//! ```text
//! magic 8 · lengths 3 x 8 · check 4 | header · check 4 | directories · check 4 | steps · check 4
//! ```
//!
//! Directories are sorted and indexed, so that finding one among thousands unpacks nothing else.
//! Steps are the journal: they count until the file gets the name of a manifest, and are not read
//! afterwards.

use std::ops::Range;

use super::codec::{Reader, Writer};
use super::header::Header;
use super::record::DirPatch;
use crate::path::RelPath;

const MAGIC: &[u8; 8] = b"stoker\x01\n";
const PREAMBLE: usize = 8 + 3 * 8 + 4;
const CHECK: usize = 4;

/// A segment in memory.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) header: Header,
    bytes: Vec<u8>,
    directories: Range<usize>,
    /// Where each directory's patch begins, in the order of their paths.
    index: Vec<u32>,
}

/// The lengths of the parts of a segment, known from its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    header: usize,
    directories: usize,
    steps: usize,
}

impl Layout {
    /// Reads the layout from the first bytes of a segment.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let preamble = bytes.get(..PREAMBLE)?;
        let lengths = checked(preamble)?.strip_prefix(MAGIC)?;
        let mut reader = Reader(lengths);
        let mut next = || usize::try_from(reader.fixed()?).ok().filter(|length| *length < 1 << 40);
        Some(Self { header: next()?, directories: next()?, steps: next()? })
    }

    /// Returns how many bytes hold everything but the steps.
    pub(crate) fn without_steps(self) -> usize {
        PREAMBLE + self.header + self.directories
    }

    /// Returns how many bytes hold the preamble and the header.
    pub(crate) fn through_header(self) -> usize {
        PREAMBLE + self.header
    }

    /// Returns how many bytes the segment has.
    pub(crate) fn whole(self) -> usize {
        self.without_steps() + self.steps
    }
}

/// Packs a segment; `patches` must be sorted by path.
pub(crate) fn pack(header: &Header, patches: &[DirPatch], steps: &[u8]) -> Vec<u8> {
    let mut packed_header = Writer::default();
    header.pack(&mut packed_header);
    let mut directories = Writer::default();
    let mut index = Vec::with_capacity(patches.len() * 4);
    for patch in patches {
        let offset = u32::try_from(directories.0.len()).unwrap_or(u32::MAX);
        index.extend_from_slice(&offset.to_le_bytes());
        patch.pack(&mut directories);
    }
    directories.0.extend_from_slice(&index);
    directories.fixed(patches.len() as u64);
    join([&packed_header.0, &directories.0, steps])
}

fn join(parts: [&[u8]; 3]) -> Vec<u8> {
    let length = parts.iter().map(|part| part.len() + CHECK).sum::<usize>();
    let mut bytes = Vec::with_capacity(PREAMBLE + length);
    bytes.extend_from_slice(MAGIC);
    for part in parts {
        bytes.extend_from_slice(&((part.len() + CHECK) as u64).to_le_bytes());
    }
    seal(&mut bytes, 0);
    for part in parts {
        let start = bytes.len();
        bytes.extend_from_slice(part);
        seal(&mut bytes, start);
    }
    bytes
}

/// Appends the check over what was appended since `start`.
fn seal(bytes: &mut Vec<u8>, start: usize) {
    let check = crc32fast::hash(&bytes[start..]);
    bytes.extend_from_slice(&check.to_le_bytes());
}

/// Returns the part without its check, if the check holds.
fn checked(part: &[u8]) -> Option<&[u8]> {
    let (content, check) = part.split_last_chunk::<CHECK>()?;
    (crc32fast::hash(content) == u32::from_le_bytes(*check)).then_some(content)
}

/// Reads the header from the first bytes of a segment.
pub(crate) fn parse_header(bytes: &[u8]) -> Option<Header> {
    let layout = Layout::parse(bytes)?;
    Header::unpack(&mut Reader(checked(bytes.get(PREAMBLE..layout.through_header())?)?))
}

/// Reads the steps of a whole segment.
pub(crate) fn parse_steps(bytes: &[u8]) -> Option<&[u8]> {
    let layout = Layout::parse(bytes)?;
    checked(bytes.get(layout.without_steps()..layout.whole())?)
}

impl Segment {
    /// Checks and indexes a segment; the steps may be missing from `bytes`.
    pub(crate) fn parse(bytes: Vec<u8>) -> Option<Self> {
        let layout = Layout::parse(&bytes)?;
        let header = parse_header(&bytes)?;
        let start = layout.through_header();
        let part = checked(bytes.get(start..layout.without_steps())?)?;
        let (rest, count) = part.split_last_chunk::<8>()?;
        let count = usize::try_from(u64::from_le_bytes(*count)).ok()?;
        let end = rest.len().checked_sub(count.checked_mul(4)?)?;
        let (offsets, []) = rest[end..].as_chunks::<4>() else { return None };
        let index = offsets.iter().map(|offset| u32::from_le_bytes(*offset)).collect();
        let segment = Self { header, directories: start..start + end, index, bytes };
        segment.is_sound().then_some(segment)
    }

    /// An index that points nowhere would otherwise be met in the middle of a plan.
    fn is_sound(&self) -> bool {
        (0..self.index.len()).all(|position| self.entry(position).is_some())
    }

    fn entry(&self, position: usize) -> Option<(&[u8], Reader<'_>)> {
        let offset = usize::try_from(*self.index.get(position)?).ok()?;
        let mut reader = Reader(self.bytes.get(self.directories.clone())?.get(offset..)?);
        let path = reader.bytes()?;
        Some((path, reader))
    }

    /// Returns everything that the segment says about directories.
    pub(crate) fn patches(&self) -> impl Iterator<Item = DirPatch> {
        (0..self.index.len()).filter_map(|position| {
            let (path, mut reader) = self.entry(position)?;
            let change = DirPatch::unpack_change(&mut reader)?;
            Some(DirPatch { path: RelPath::from_clean(path), change })
        })
    }

    /// Returns how many directories the segment speaks of.
    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// Returns how many bytes the segment has.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the path of a directory by its position.
    pub(crate) fn path(&self, position: usize) -> &[u8] {
        self.entry(position).map_or(&[], |(path, _)| path)
    }

    /// Returns the position of the first directory that is not before `path`.
    pub(crate) fn lower_bound(&self, path: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.index.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.path(middle) < path { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Returns the packed change of a directory.
    pub(crate) fn find(&self, path: &[u8]) -> Option<Reader<'_>> {
        let (found, reader) = self.entry(self.lower_bound(path))?;
        (found == path).then_some(reader)
    }
}
