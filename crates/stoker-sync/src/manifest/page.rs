//! Pages of a segment: the directories that are read, checked and cached together.

use std::ops::Range;
use std::sync::OnceLock;

use super::codec::{Reader, Writer};
use super::record::DirPatch;
use super::segment::Damaged;

/// A page is full when it has this many bytes: a few hundred files.
const FULL: usize = 16 * 1024;

#[derive(Debug, Default)]
pub(super) struct Pages {
    index: Writer,
    bytes: Vec<u8>,
    /// Of the page that is being filled: where it begins, its first path, how many directories.
    begin: usize,
    first: Vec<u8>,
    count: u64,
}

/// A page in the index, and the page itself once it was read.
#[derive(Debug)]
pub(super) struct Slot {
    first: Box<[u8]>,
    positions: Range<usize>,
    bytes: Range<usize>,
    check: u32,
    /// `None` if it can't be read.
    page: OnceLock<Option<Page>>,
}

/// A page, read and checked.
#[derive(Debug)]
pub(super) struct Page {
    bytes: Vec<u8>,
    /// Where the entries begin.
    entries: Vec<u32>,
}

impl Pages {
    pub(super) fn add(&mut self, patch: &DirPatch) {
        if self.count == 0 {
            self.first.clear();
            self.first.extend_from_slice(&patch.path);
        }
        self.count += 1;
        let mut change = Writer::default();
        patch.pack_change(&mut change);
        let mut entry = Writer(std::mem::take(&mut self.bytes));
        entry.bytes(&patch.path);
        entry.bytes(&change.0);
        self.bytes = entry.0;
        if self.bytes.len() - self.begin >= FULL {
            self.close();
        }
    }

    fn close(&mut self) {
        let page = &self.bytes[self.begin..];
        self.index.bytes(&self.first);
        self.index.number(self.count);
        self.index.number(page.len() as u64);
        self.index.number(u64::from(crc32fast::hash(page)));
        self.begin = self.bytes.len();
        self.count = 0;
    }

    pub(super) fn finish(mut self) -> (Vec<u8>, Vec<u8>) {
        if self.count > 0 {
            self.close();
        }
        (self.index.0, self.bytes)
    }
}

impl Slot {
    /// Unpacks an index; the pages must fill the bytes that are there for them.
    pub(super) fn unpack_all(index: &[u8], bytes: usize) -> Option<Vec<Self>> {
        let mut reader = Reader(index);
        let mut slots: Vec<Self> = Vec::new();
        while !reader.0.is_empty() {
            let slot = Self::unpack(&mut reader, slots.last())?;
            slots.push(slot);
        }
        (slots.last().map_or(0, |last| last.bytes.end) == bytes).then_some(slots)
    }

    fn unpack(reader: &mut Reader<'_>, before: Option<&Self>) -> Option<Self> {
        let first = reader.bytes()?.into();
        let count = usize::try_from(reader.number()?).ok()?;
        let length = usize::try_from(reader.number()?).ok()?;
        let check = u32::try_from(reader.number()?).ok()?;
        let position = before.map_or(0, Self::end);
        let start = before.map_or(0, |before| before.bytes.end);
        Some(Self {
            first,
            positions: position..position.checked_add(count)?,
            bytes: start..start.checked_add(length)?,
            check,
            page: OnceLock::new(),
        })
    }

    pub(super) fn first(&self) -> &[u8] {
        &self.first
    }

    pub(super) fn begin(&self) -> usize {
        self.positions.start
    }

    /// Returns the position after the last directory.
    pub(super) fn end(&self) -> usize {
        self.positions.end
    }

    pub(super) fn bytes(&self) -> Range<usize> {
        self.bytes.clone()
    }

    pub(super) fn parse(&self, bytes: Vec<u8>) -> Option<Page> {
        let page = Page::parse(bytes, self.check)?;
        (page.len() == self.positions.len()).then_some(page)
    }

    /// Returns the page, which is kept; `load` is asked for it once.
    pub(super) fn page(&self, load: impl FnOnce() -> Option<Page>) -> Result<&Page, Damaged> {
        self.page.get_or_init(load).as_ref().ok_or(Damaged)
    }
}

impl Page {
    fn parse(bytes: Vec<u8>, check: u32) -> Option<Self> {
        if crc32fast::hash(&bytes) != check {
            return None;
        }
        let mut entries = Vec::new();
        let mut reader = Reader(&bytes);
        while !reader.0.is_empty() {
            entries.push(u32::try_from(bytes.len() - reader.0.len()).ok()?);
            reader.bytes()?;
            reader.bytes()?;
        }
        Some(Self { bytes, entries })
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns a directory and what was packed about it.
    pub(super) fn entry(&self, place: usize) -> Option<(&[u8], Reader<'_>)> {
        let start = usize::try_from(*self.entries.get(place)?).ok()?;
        let mut reader = Reader(self.bytes.get(start..)?);
        let path = reader.bytes()?;
        Some((path, Reader(reader.bytes()?)))
    }

    /// Returns the place of the first directory that is not before `path`.
    pub(super) fn lower_bound(&self, path: &[u8]) -> usize {
        let found = |start: &u32| {
            let rest = usize::try_from(*start).ok().and_then(|start| self.bytes.get(start..));
            rest.and_then(|rest| Reader(rest).bytes()).unwrap_or_default()
        };
        self.entries.partition_point(|start| found(start) < path)
    }
}
