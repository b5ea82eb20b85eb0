//! The bytes of an object, checked against its id while they are read.

use std::io::{self, Read};

use sha1::{Digest, Sha1};
use stoker_sync::source::ObjectId;

use super::ObjectKind;

/// An object that is read while it arrives. Its last bytes are returned only if all have its id.
pub(super) struct Content<R> {
    bytes: io::Take<R>,
    hash: Sha1,
    id: ObjectId,
    failure: Option<io::ErrorKind>,
}

impl<R: Read> Content<R> {
    pub(super) fn new(bytes: R, kind: ObjectKind, size: u64, id: ObjectId) -> Self {
        Self { bytes: bytes.take(size), hash: begin(kind, size), id, failure: None }
    }

    /// Returns whether the reader got an error.
    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Returns whether all of its bytes came, and do not have its id.
    pub(super) fn has_wrong_id(&self) -> bool {
        self.failure == Some(io::ErrorKind::InvalidData)
    }

    /// Skips what was not read, and returns whether it was complete.
    pub(super) fn skip(&mut self) -> bool {
        io::copy(&mut self.bytes, &mut io::sink()).is_ok() && self.bytes.limit() == 0
    }

    fn fail(&mut self, kind: io::ErrorKind) -> io::Error {
        self.failure = Some(kind);
        io::Error::new(kind, "the object store is damaged")
    }
}

impl<R: Read> Read for Content<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(kind) = self.failure {
            return Err(self.fail(kind));
        }
        if buffer.is_empty() || self.bytes.limit() == 0 {
            return Ok(0);
        }
        let count = self.bytes.read(buffer)?;
        self.hash.update(&buffer[..count]);
        if count == 0 {
            return Err(self.fail(io::ErrorKind::UnexpectedEof));
        }
        if self.bytes.limit() == 0 && finish(self.hash.clone()) != self.id {
            return Err(self.fail(io::ErrorKind::InvalidData));
        }
        Ok(count)
    }
}

pub(super) fn id_of(kind: ObjectKind, bytes: &[u8]) -> ObjectId {
    let mut hash = begin(kind, bytes.len() as u64);
    hash.update(bytes);
    finish(hash)
}

fn begin(kind: ObjectKind, size: u64) -> Sha1 {
    Sha1::new_with_prefix(format!("{} {size}\0", kind.word()))
}

fn finish(hash: Sha1) -> ObjectId {
    ObjectId(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"hello\n";

    fn read(stream: &[u8], id: ObjectId) -> (Option<Vec<u8>>, bool) {
        let mut content = Content::new(stream, ObjectKind::Blob, TEXT.len() as u64, id);
        let mut bytes = Vec::new();
        let read = content.read_to_end(&mut bytes).is_ok();
        assert_eq!(content.read(&mut [0]).is_ok(), read, "it stays as it is");
        (read.then_some(bytes), content.has_failed())
    }

    #[test]
    fn only_what_has_the_id_is_read_to_its_end() {
        let id = id_of(ObjectKind::Blob, TEXT);
        assert_eq!(id.to_string(), "ce013625030ba8dba906f756967f9e9ca394464a");
        assert_eq!(read(b"hello\nand more", id), (Some(TEXT.to_vec()), false));
        assert_eq!(read(b"hello", id), (None, true));
        assert_eq!(read(b"hella\n", id), (None, true));
        assert_eq!(read(TEXT, id_of(ObjectKind::Tree, TEXT)), (None, true));
    }

    #[test]
    fn unread_bytes_are_skipped_but_must_be_complete() {
        let id = id_of(ObjectKind::Blob, TEXT);
        let content = |stream: &'static [u8]| Content::new(stream, ObjectKind::Blob, 6, id);
        assert!(content(TEXT).skip());
        assert!(!content(b"hell").skip());
    }
}
