//! One file of the manifest: a header, patches of directories, and the steps of the run.
//!
//! ```text
//! magic 8 · lengths 4 x 8 · check 4 | header · check 4 | index · check 4 | pages | steps · check 4
//! ```
//!
//! Directories are sorted and stored in pages, each with a checksum in the index. A run with
//! nothing
//! to do reads the header; one that needs a few directories reads a few pages. The steps are the
//! journal: they are valid until the file is renamed to a manifest, and are not read afterwards.

use std::fs::File;
use std::ops::Range;
use std::sync::OnceLock;

use super::codec::{Reader, Writer};
use super::header::Header;
use super::page::{Page, Pages, Slot};
use super::record::DirPatch;
use crate::disk;
use crate::path::{self, RelPath};

const MAGIC: &[u8; 8] = b"stoker\x02\n";
const PREAMBLE: usize = 8 + 4 * 8 + 4;
const CHECK: usize = 4;
/// What is read first: enough for the preamble and any usual header.
const FIRST_READ: usize = 4 * 1024;

/// A segment on disk, read as far as it was asked for.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) header: Header,
    layout: Layout,
    file: File,
    /// `None` if it can't be read.
    slots: OnceLock<Option<Vec<Slot>>>,
}

/// A part of a segment was asked for and can't be read: nothing it says may be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Damaged;

/// The lengths of the parts of a segment, known from its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    header: usize,
    index: usize,
    pages: usize,
    steps: usize,
}

impl Layout {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let lengths = checked(bytes.get(..PREAMBLE)?)?.strip_prefix(MAGIC)?;
        let mut reader = Reader(lengths);
        let mut next = || usize::try_from(reader.fixed()?).ok().filter(|length| *length < 1 << 40);
        Some(Self { header: next()?, index: next()?, pages: next()?, steps: next()? })
    }

    fn index_start(self) -> usize {
        PREAMBLE + self.header
    }

    fn pages_start(self) -> usize {
        self.index_start() + self.index
    }

    fn steps_start(self) -> usize {
        self.pages_start() + self.pages
    }
}

/// Packs a segment; `patches` must be sorted by path.
pub(crate) fn pack(header: &Header, patches: &[DirPatch], steps: &[u8]) -> Vec<u8> {
    let mut packed_header = Writer::default();
    header.pack(&mut packed_header);
    let mut pages = Pages::default();
    for patch in patches {
        pages.add(patch);
    }
    let (index, pages) = pages.finish();
    let lengths =
        [packed_header.0.len() + CHECK, index.len() + CHECK, pages.len(), steps.len() + CHECK];
    let mut bytes = Vec::with_capacity(PREAMBLE + lengths.iter().sum::<usize>());
    bytes.extend_from_slice(MAGIC);
    for length in lengths {
        bytes.extend_from_slice(&(length as u64).to_le_bytes());
    }
    append_check(&mut bytes, 0);
    for part in [&packed_header.0, &index] {
        append_checked(&mut bytes, part);
    }
    bytes.extend_from_slice(&pages);
    append_checked(&mut bytes, steps);
    bytes
}

fn append_checked(bytes: &mut Vec<u8>, part: &[u8]) {
    let start = bytes.len();
    bytes.extend_from_slice(part);
    append_check(bytes, start);
}

/// Appends the check over what was appended since `start`.
fn append_check(bytes: &mut Vec<u8>, start: usize) {
    let check = crc32fast::hash(&bytes[start..]);
    bytes.extend_from_slice(&check.to_le_bytes());
}

/// Returns the part without its check, if the check holds.
fn checked(part: &[u8]) -> Option<&[u8]> {
    let (content, check) = part.split_last_chunk::<CHECK>()?;
    (crc32fast::hash(content) == u32::from_le_bytes(*check)).then_some(content)
}

impl Segment {
    /// Opens a segment: reads its header, and checks that the rest can be there.
    pub(crate) fn open(file: File) -> Option<Self> {
        let size = usize::try_from(disk::size(&file).ok()?).ok()?;
        let mut first = disk::read_at(&file, 0, size.min(FIRST_READ)).ok()?;
        let layout = Layout::parse(&first)?;
        if layout.steps_start() > size {
            return None;
        }
        if layout.index_start() > first.len() {
            first = disk::read_at(&file, 0, layout.index_start()).ok()?;
        }
        let packed = checked(first.get(PREAMBLE..layout.index_start())?)?;
        let header = Header::unpack(&mut Reader(packed))?;
        Some(Self { header, layout, file, slots: OnceLock::new() })
    }

    pub(crate) fn steps(&self) -> Option<Vec<u8>> {
        let mut steps = self.read(self.layout.steps_start(), self.layout.steps)?;
        let length = checked(&steps)?.len();
        steps.truncate(length);
        Some(steps)
    }

    fn read(&self, start: usize, length: usize) -> Option<Vec<u8>> {
        disk::read_at(&self.file, start as u64, length).ok()
    }

    fn slots(&self) -> Result<&[Slot], Damaged> {
        let slots = self.slots.get_or_init(|| {
            let index = self.read(self.layout.index_start(), self.layout.index)?;
            Slot::unpack_all(checked(&index)?, self.layout.pages)
        });
        slots.as_deref().ok_or(Damaged)
    }

    fn page<'a>(&self, slot: &'a Slot) -> Result<&'a Page, Damaged> {
        slot.page(|| self.load(slot))
    }

    fn load(&self, slot: &Slot) -> Option<Page> {
        let bytes = slot.bytes();
        slot.parse(self.read(self.layout.pages_start() + bytes.start, bytes.len())?)
    }

    /// Reads the page with the directory at a position, for one use, and returns it with the
    /// position of its first one.
    pub(super) fn read_page(&self, position: usize) -> Result<(usize, Page), Damaged> {
        let slot = self.slot(position)?;
        Ok((slot.begin(), self.load(slot).ok_or(Damaged)?))
    }

    fn slot(&self, position: usize) -> Result<&Slot, Damaged> {
        let slots = self.slots()?;
        let after = slots.partition_point(|slot| slot.begin() <= position);
        after.checked_sub(1).map(|before| &slots[before]).ok_or(Damaged)
    }

    /// Returns how many bytes the manifest needs of the segment.
    pub(crate) fn size(&self) -> usize {
        self.layout.steps_start()
    }

    pub(crate) fn len(&self) -> Result<usize, Damaged> {
        Ok(self.slots()?.last().map_or(0, Slot::end))
    }

    /// Returns the path of the first directory of each page.
    pub(crate) fn page_starts(&self) -> Result<impl Iterator<Item = &[u8]>, Damaged> {
        Ok(self.slots()?.iter().map(Slot::first))
    }

    /// Returns the position of the first directory that is not before `path`.
    pub(crate) fn lower_bound(&self, path: &[u8]) -> Result<usize, Damaged> {
        let slots = self.slots()?;
        let after = slots.partition_point(|slot| slot.first() <= path);
        let Some(slot) = after.checked_sub(1).map(|before| &slots[before]) else { return Ok(0) };
        Ok(slot.begin() + self.page(slot)?.lower_bound(path))
    }

    /// Returns the directory at a position, with what was packed about it.
    pub(crate) fn entry(&self, position: usize) -> Result<(&[u8], Reader<'_>), Damaged> {
        let slot = self.slot(position)?;
        self.page(slot)?.entry(position - slot.begin()).ok_or(Damaged)
    }

    /// Returns the packed change of a directory.
    pub(crate) fn find(&self, path: &[u8]) -> Result<Option<Reader<'_>>, Damaged> {
        let position = self.lower_bound(path)?;
        if position == self.len()? {
            return Ok(None);
        }
        let (found, reader) = self.entry(position)?;
        Ok((found == path).then_some(reader))
    }

    pub(crate) fn patches(&self) -> Result<Vec<DirPatch>, Damaged> {
        let patch = |position| {
            let (path, mut reader) = self.entry(position)?;
            let change = DirPatch::unpack_change(&mut reader).ok_or(Damaged)?;
            Ok(DirPatch { path: RelPath::from_clean(path), change })
        };
        (0..self.len()?).map(patch).collect()
    }

    /// Returns the positions of the directories strictly below this one.
    pub(super) fn below_range(&self, directory: &[u8]) -> Result<Range<usize>, Damaged> {
        if directory.is_empty() {
            let count = self.len()?;
            let has_root = count > 0 && self.entry(0)?.0.is_empty();
            return Ok(usize::from(has_root)..count);
        }
        let bound = |after: u8| self.lower_bound(&[directory, &[after]].concat());
        // '0' is the byte after '/': the paths between the two are exactly those below.
        Ok(bound(b'/')?..bound(b'0')?)
    }

    /// Calls `visit` with the name of each directory directly below this one.
    pub(super) fn for_each_child(
        &self,
        directory: &[u8],
        mut visit: impl FnMut(&[u8]),
    ) -> Result<(), Damaged> {
        let mut range = self.below_range(directory)?;
        while !range.is_empty() {
            let (found, _) = self.entry(range.start)?;
            let below = path::below(found, directory).unwrap_or_default();
            let name = below.split(|byte| *byte == b'/').next().unwrap_or_default();
            visit(name);
            // A sibling such as "a-b" sorts between "a" and "a/x", so only what is below is jumped
            // over.
            range.start = if name.len() == below.len() {
                range.start + 1
            } else {
                let end = found.len() - below.len() + name.len();
                self.lower_bound(&[&found[..end], b"0"].concat())?
            };
        }
        Ok(())
    }
}
