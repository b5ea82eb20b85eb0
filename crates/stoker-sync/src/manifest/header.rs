//! The header of a manifest: the commit and the profile of its files.

use super::codec::{Reader, Writer};
use crate::halves::Halves;
use crate::path::RelPath;
use crate::report::Listed;
use crate::request::{Mapping, Origin};
use crate::source::ObjectId;
use crate::warning::{Warning, WarningCode};

/// What holds for the manifest as a whole; the default is that of a directory without a sync.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Header {
    /// Counts the syncs that changed something; each has one segment.
    pub(crate) generation: u64,
    /// The generation that this one patches; 0 if it is complete by itself.
    pub(crate) previous: u64,
    pub(crate) commit: String,
    /// The fingerprint of mappings and excludes.
    pub(crate) profile: ObjectId,
    pub(crate) files: u64,
    /// How many of them were manipulated.
    pub(crate) manipulated: u64,
    /// The scans that were owed when the sync ended.
    pub(crate) owed: Halves,
    pub(crate) mappings: Vec<MappingRecord>,
    /// What was skipped and will be skipped until commit or profile change.
    pub(crate) warnings: Vec<Warning>,
    /// Files in owned directories that no sync brought and that were kept.
    pub(crate) kept: Listed,
    pub(crate) origin: Option<Box<Origin>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MappingRecord {
    pub(crate) source: RelPath,
    pub(crate) destination: RelPath,
    pub(crate) shape: Shape,
    /// How many files are there because of it.
    pub(crate) files: u64,
}

impl MappingRecord {
    /// Returns whether a mapping is this one, wherever it is in its list.
    pub(crate) fn is_of(&self, mapping: &Mapping) -> bool {
        self.source == mapping.source && self.destination == mapping.destination
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Not in the commit.
    Absent,
    Dir,
    File,
}

impl Header {
    pub(crate) fn pack(&self, writer: &mut Writer) {
        writer.number(self.generation);
        writer.number(self.previous);
        writer.bytes(self.commit.as_bytes());
        writer.id(self.profile);
        writer.number(self.files);
        writer.number(self.manipulated);
        writer.byte(self.owed.to_bits());
        writer.list(&self.mappings, |writer, mapping| {
            writer.bytes(&mapping.source);
            writer.bytes(&mapping.destination);
            writer.byte(mapping.shape as u8);
            writer.number(mapping.files);
        });
        writer.list(&self.warnings, |writer, warning| {
            writer.bytes(warning.code.as_str().as_bytes());
            writer.bytes(&warning.path);
            writer.bytes(warning.message.as_bytes());
        });
        writer.number(self.kept.count);
        writer.list(&self.kept.paths, |writer, path| writer.bytes(path));
        let origin = self.origin.as_ref();
        let words = origin.map(|origin| [&origin.repository, &origin.reference, &origin.process]);
        let words = words.as_ref().map_or(&[][..], |words| &words[..]);
        writer.list(words, |writer, word| writer.bytes(word.as_bytes()));
    }

    pub(crate) fn unpack(reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            generation: reader.number()?,
            previous: reader.number()?,
            commit: text(reader)?,
            profile: reader.id()?,
            files: reader.number()?,
            manipulated: reader.number()?,
            owed: Halves::from_bits(reader.byte()?),
            mappings: reader.list(mapping)?,
            warnings: reader.list(warning)?,
            kept: kept(reader)?,
            origin: origin(reader)?,
        })
    }
}

/// Headers of earlier versions end before it.
fn kept(reader: &mut Reader<'_>) -> Option<Listed> {
    if reader.0.is_empty() {
        return Some(Listed::default());
    }
    let count = reader.number()?;
    let paths = reader.list(path)?;
    Some(Listed { count, paths })
}

/// Headers of earlier versions end before it. `None` is damage.
#[expect(clippy::option_option, reason = "damage is not the same as an origin that is not known")]
fn origin(reader: &mut Reader<'_>) -> Option<Option<Box<Origin>>> {
    if reader.0.is_empty() || reader.number()? == 0 {
        return Some(None);
    }
    let [repository, reference, process] = [text(reader)?, text(reader)?, text(reader)?];
    Some(Some(Box::new(Origin { repository, reference, process })))
}

fn text(reader: &mut Reader<'_>) -> Option<String> {
    String::from_utf8(reader.bytes()?.to_vec()).ok()
}

fn path(reader: &mut Reader<'_>) -> Option<RelPath> {
    RelPath::parse(reader.bytes()?).ok()
}

fn mapping(reader: &mut Reader<'_>) -> Option<MappingRecord> {
    Some(MappingRecord {
        source: path(reader)?,
        destination: path(reader)?,
        shape: match reader.byte()? {
            0 => Shape::Absent,
            1 => Shape::Dir,
            _ => Shape::File,
        },
        files: reader.number()?,
    })
}

fn warning(reader: &mut Reader<'_>) -> Option<Warning> {
    Some(Warning {
        code: WarningCode::find(std::str::from_utf8(reader.bytes()?).ok()?)?,
        path: path(reader)?,
        message: text(reader)?,
    })
}
