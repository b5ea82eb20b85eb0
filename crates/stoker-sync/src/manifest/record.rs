//! The records of a manifest: each file with its blob, its placed content and its stat.

use super::codec::{Reader, Writer};
use super::segment::Damaged;
use crate::path::RelPath;
use crate::source::ObjectId;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileRecord {
    /// The last component of its path.
    pub(crate) name: Box<[u8]>,
    pub(crate) blob: ObjectId,
    /// The id of its bytes as placed: the blob's, unless something manipulated them.
    pub(crate) placed: ObjectId,
    /// Which values the manipulation depends on, and a fingerprint of them; 0 without one.
    pub(crate) inputs: Inputs,
    pub(crate) is_executable: bool,
    /// The position of its mapping in the header.
    pub(crate) mapping: u16,
    /// Its stat when it was placed.
    pub(crate) stamp: FileStamp,
}

/// What a manipulated file was made from, besides its blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Inputs {
    /// Which values it uses, one bit each.
    pub(crate) uses: u16,
    /// A fingerprint of those values and of its patches; 0 if nothing manipulates the file.
    pub(crate) fingerprint: u64,
}

/// The stat of a file. Equal stamps mean that it was not written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FileStamp {
    pub(crate) size: u64,
    /// When it was last written, in nanoseconds since 1970.
    pub(crate) modified: u64,
    pub(crate) inode: u64,
}

/// The stat of a directory when it was made, with all that is in it: while it is equal, no entry has
/// come or gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DirStamp {
    /// When an entry came or went last, in nanoseconds since 1970.
    pub(crate) modified: u64,
    /// When the directory was touched in any way. Nobody can set this one back.
    pub(crate) changed: u64,
    pub(crate) inode: u64,
}

/// What a directory was composed from: its layers, each a mapping and a tree of the source.
///
/// Equal layers under equal mappings mean equal content, all the way down.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Key(pub(crate) Vec<(u16, ObjectId)>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DirPatch {
    pub(crate) path: RelPath,
    pub(crate) change: DirChange,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DirChange {
    /// It is no longer managed.
    Forgotten,
    /// It holds what it held, but for these.
    Known { key: Key, stamp: Option<DirStamp>, upserts: Vec<FileRecord>, removals: Vec<Box<[u8]>> },
}

/// The mapping of a file that none brings any more.
pub(crate) const NO_MAPPING: u16 = u16::MAX;

const NOTHING: ObjectId = ObjectId([0; 20]);

const EXECUTABLE: u8 = 1;
const MANIPULATED: u8 = 2;

impl FileRecord {
    /// Returns the record of a file that is ours, with unknown content.
    pub(crate) fn unknown(name: &[u8], mapping: u16) -> Self {
        Self {
            name: name.into(),
            blob: NOTHING,
            placed: NOTHING,
            inputs: Inputs::default(),
            is_executable: false,
            mapping,
            stamp: FileStamp::default(),
        }
    }

    pub(crate) fn is_unknown(&self) -> bool {
        self.placed == NOTHING
    }

    pub(crate) fn is_manipulated(&self) -> bool {
        self.inputs.fingerprint != 0
    }

    fn pack(&self, writer: &mut Writer) {
        let executable = if self.is_executable { EXECUTABLE } else { 0 };
        let manipulated = if self.is_manipulated() { MANIPULATED } else { 0 };
        writer.byte(executable | manipulated);
        writer.number(u64::from(self.mapping));
        writer.bytes(&self.name);
        writer.id(self.blob);
        if self.is_manipulated() {
            writer.id(self.placed);
            writer.number(u64::from(self.inputs.uses));
            writer.fixed(self.inputs.fingerprint);
        }
        writer.number(self.stamp.size);
        writer.fixed(self.stamp.modified);
        writer.number(self.stamp.inode);
    }

    fn unpack(reader: &mut Reader<'_>) -> Option<Self> {
        let flags = reader.byte()?;
        let mapping = u16::try_from(reader.number()?).ok()?;
        let name = reader.bytes()?.into();
        let blob = reader.id()?;
        let mut inputs = Inputs::default();
        let mut placed = blob;
        if flags & MANIPULATED != 0 {
            placed = reader.id()?;
            inputs.uses = u16::try_from(reader.number()?).ok()?;
            inputs.fingerprint = reader.fixed()?;
        }
        let size = reader.number()?;
        let modified = reader.fixed()?;
        let inode = reader.number()?;
        let stamp = FileStamp { size, modified, inode };
        let is_executable = flags & EXECUTABLE != 0;
        Some(Self { name, blob, placed, inputs, is_executable, mapping, stamp })
    }
}

impl Key {
    fn pack(&self, writer: &mut Writer) {
        writer.list(&self.0, |writer, (mapping, tree)| {
            writer.number(u64::from(*mapping));
            writer.id(*tree);
        });
    }

    fn unpack(reader: &mut Reader<'_>) -> Option<Self> {
        let layers =
            reader.list(|reader| Some((u16::try_from(reader.number()?).ok()?, reader.id()?)));
        layers.map(Self)
    }
}

impl DirStamp {
    fn pack(self, writer: &mut Writer) {
        writer.fixed(self.modified);
        // Mostly the same moment.
        writer.number(self.changed.wrapping_sub(self.modified));
        writer.number(self.inode);
    }

    fn unpack(reader: &mut Reader<'_>) -> Option<Self> {
        let modified = reader.fixed()?;
        let changed = modified.wrapping_add(reader.number()?);
        Some(Self { modified, changed, inode: reader.number()? })
    }
}

const FORGOTTEN: u8 = 0;
const KNOWN: u8 = 1;
const STAMPED: u8 = 2;

impl DirPatch {
    pub(crate) fn pack_change(&self, writer: &mut Writer) {
        let DirChange::Known { key, stamp, upserts, removals } = &self.change else {
            return writer.byte(FORGOTTEN);
        };
        writer.byte(if stamp.is_some() { STAMPED } else { KNOWN });
        key.pack(writer);
        if let Some(stamp) = stamp {
            stamp.pack(writer);
        }
        writer.list(removals, |writer, name| writer.bytes(name));
        writer.list(upserts, |writer, file| file.pack(writer));
    }

    pub(crate) fn unpack_change(reader: &mut Reader<'_>) -> Option<DirChange> {
        let kind = reader.byte()?;
        if kind == FORGOTTEN {
            return Some(DirChange::Forgotten);
        }
        let key = Key::unpack(reader)?;
        let stamp = if kind == STAMPED { Some(DirStamp::unpack(reader)?) } else { None };
        let removals = reader.list(|reader| reader.bytes().map(Box::from))?;
        let upserts = reader.list(FileRecord::unpack)?;
        Some(DirChange::Known { key, stamp, upserts, removals })
    }

    /// Unpacks only the key; a directory that is forgotten has none.
    pub(crate) fn unpack_key(reader: &mut Reader<'_>) -> Result<Option<Key>, Damaged> {
        match reader.byte().ok_or(Damaged)? {
            FORGOTTEN => Ok(None),
            _ => Key::unpack(reader).ok_or(Damaged).map(Some),
        }
    }
}
