//! What a commit holds: entries with ids, bytes on demand.
//!
//! The planner lists one level of the tree at a time, many directories per call, and never a
//! directory whose id it already knows. That is why the cost of a sync follows what changed. Git
//! and the working directory of `dev` implement it. A source returns names as it finds them; the
//! planner checks them, because a repository is hostile input.

use std::fmt::{self, Write as _};
use std::io::Read;
use std::ops::ControlFlow;

use crate::disk::DiskError;
use crate::path::RelPath;

/// The id of a git object: SHA-1 over its type, its size and its bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub [u8; 20]);

/// What an entry of a tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A directory (git mode 040000).
    Dir,
    /// A plain file (git mode 100644).
    File,
    /// A file with the executable bit (git mode 100755).
    Executable,
    /// A symbolic link (git mode 120000). Never followed.
    Symlink,
    /// A commit of another repository (git mode 160000). Never fetched.
    Submodule,
    /// A pipe, a socket or a device: a working directory may have one.
    Special,
}

/// One entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name as the source has it: bytes, unchecked, one component in an honest tree.
    pub name: Box<[u8]>,
    /// What the entry is.
    pub kind: Kind,
    /// The id of its tree or blob.
    pub id: ObjectId,
}

/// Receives the blobs that [`Source::read`] streams: the position of the blob in the request, its
/// size, and its bytes. `Break` ends the reading; the receiver keeps the reason to itself.
///
/// A receiver may leave bytes unread; the source skips them.
pub type Sink<'a> = dyn FnMut(usize, u64, &mut dyn Read) -> ControlFlow<()> + 'a;

/// The content of one commit, or of a working directory.
///
/// # Flow
///
/// [`root`](Self::root), then [`list`](Self::list) level by level where ids differ from the last
/// sync, then once [`fetch`](Self::fetch) and once [`read`](Self::read) with exactly the blobs that
/// are to be written.
///
/// # Promises
///
/// The same id always means the same content. Responses come in the order of the request. A
/// request may name the same id twice, and may be empty (no work then, no process, no network).
pub trait Source {
    /// Says which directories will be requested, before any other request. A source that fetches
    /// from afar may bring everything in one go if that is what they come to.
    fn expect(&mut self, _directories: &[RelPath]) {}

    /// Returns the id of the top directory.
    fn root(&mut self) -> Result<ObjectId, Error>;

    /// Returns the entries of each of `trees`, one level deep, in one round trip.
    fn list(&mut self, trees: &[ObjectId]) -> Result<Vec<Vec<Entry>>, Error>;

    /// Makes `blobs` available locally, in one round trip, and returns their sizes.
    ///
    /// After it [`read`](Self::read) needs no network. Sizes come before the first byte is written,
    /// so that a full disk is noticed before it is touched.
    fn fetch(&mut self, blobs: &[ObjectId]) -> Result<Vec<u64>, Error>;

    /// Streams `blobs`, all of them fetched before, into `sink`.
    ///
    /// Calls come in the order of `blobs`. Returns `Ok` when the sink breaks off.
    fn read(&mut self, blobs: &[ObjectId], sink: &mut Sink<'_>) -> Result<(), Error>;
}

/// Why a source failed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    /// The object is not there, or is not of the kind that was asked for.
    #[error("object {id} is not in the source")]
    Missing { id: ObjectId },
    #[error("object {id} is not a tree that can be read")]
    MalformedTree { id: ObjectId },
    #[error("reading from the source was cancelled")]
    Cancelled,
    /// A working directory could not be read.
    #[error("failed to read from the source")]
    Disk { source: DiskError },
    /// The source itself failed. It keeps its own error, and its owner asks it for that.
    #[error("failed to read from the source")]
    Failed,
}

impl ObjectId {
    /// The tree without entries: every git repository has it.
    pub const EMPTY_TREE: Self = Self([
        0x4b, 0x82, 0x5d, 0xc6, 0x42, 0xcb, 0x6e, 0xb9, 0xa0, 0x60, 0xe5, 0x4b, 0xf8, 0xd6, 0x92,
        0x88, 0xfb, 0xee, 0x49, 0x04,
    ]);

    /// Parses 40 hexadecimal digits.
    pub fn parse_hex(text: &[u8]) -> Option<Self> {
        if text.len() != 40 {
            return None;
        }
        let mut bytes = [0; 20];
        for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
            *byte = hex_digit(pair[0])? << 4 | hex_digit(pair[1])?;
        }
        Some(Self(bytes))
    }

    /// Returns the 40 hexadecimal digits.
    pub fn to_hex(self) -> [u8; 40] {
        let mut hex = [0; 40];
        for (byte, pair) in self.0.iter().zip(hex.chunks_exact_mut(2)) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        hex
    }
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_hex().iter().try_for_each(|digit| f.write_char(char::from(*digit)))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl Kind {
    /// Reads the mode of a tree entry as git spells it (`100644`, `40000`, …), and as git reads it:
    /// old tools and importers have left others, of which the type and one bit count.
    pub fn parse_mode(mode: &[u8]) -> Option<Self> {
        let is_octal =
            matches!(mode.len(), 1..=7) && mode.iter().all(|d| (b'0'..=b'7').contains(d));
        let mode = mode.iter().fold(0, |mode, digit| mode << 3 | u32::from(digit & 7));
        let kind = match mode & 0o170_000 {
            0o040_000 => Self::Dir,
            0o100_000 if mode & 0o100 == 0 => Self::File,
            0o100_000 => Self::Executable,
            0o120_000 => Self::Symlink,
            _ => Self::Submodule,
        };
        is_octal.then_some(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_what_git_takes_it_for() {
        for (mode, kind) in [
            ("100644", Kind::File),
            ("100664", Kind::File),
            ("100600", Kind::File),
            ("100000", Kind::File),
            ("0100644", Kind::File),
            ("100755", Kind::Executable),
            ("100777", Kind::Executable),
            ("104755", Kind::Executable),
            ("40000", Kind::Dir),
            ("040000", Kind::Dir),
            ("40755", Kind::Dir),
            ("120000", Kind::Symlink),
            ("160000", Kind::Submodule),
            ("777", Kind::Submodule),
        ] {
            assert_eq!(Kind::parse_mode(mode.as_bytes()), Some(kind), "{mode}");
        }
        for mode in ["", "8", "10064a", "-100644", "100644 ", "00100644"] {
            assert_eq!(Kind::parse_mode(mode.as_bytes()), None, "{mode}");
        }
    }

    #[test]
    fn an_id_prints_as_the_digits_it_was_parsed_from() {
        let text = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        let id = ObjectId::parse_hex(text.as_bytes()).unwrap();
        assert_eq!(id, ObjectId::EMPTY_TREE);
        assert_eq!(id.to_string(), text);
    }

    #[test]
    fn other_texts_are_no_ids() {
        for text in ["", "4b825d", "4b825dc642cb6eb9a060e54bf8d69288fbee490g", &"0".repeat(41)] {
            assert_eq!(ObjectId::parse_hex(text.as_bytes()), None, "{text:?}");
        }
    }
}
