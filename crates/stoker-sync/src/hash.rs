//! Git's blob ids over bytes as they pass, and short fingerprints of settings.
//!
//! Plain SHA-1 is enough here. Forged collisions are refused where objects enter, by git's own
//! collision-detecting hash; here the id only proves that what reached the disk is what git holds.

use sha1::{Digest, Sha1};

use crate::source::ObjectId;

/// Computes the id of a blob while its bytes pass by.
pub(crate) struct BlobHash(Sha1);

/// Collects settings into one value that changes when any of them does.
pub(crate) struct Fingerprint(Sha1);

impl BlobHash {
    pub(crate) fn new(size: u64) -> Self {
        Self(Sha1::new_with_prefix(format!("blob {size}\0")))
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> ObjectId {
        ObjectId(self.0.finalize().into())
    }

    pub(crate) fn of(bytes: &[u8]) -> ObjectId {
        let mut hash = Self::new(bytes.len() as u64);
        hash.update(bytes);
        hash.finish()
    }
}

impl Fingerprint {
    /// Begins a fingerprint for one purpose.
    pub(crate) fn new(purpose: &str) -> Self {
        let mut fingerprint = Self(Sha1::new());
        fingerprint.add(purpose.as_bytes());
        fingerprint
    }

    /// Adds a value; its length is part of it, so that neighbours can't run together.
    pub(crate) fn add(&mut self, value: &[u8]) {
        self.0.update((value.len() as u64).to_le_bytes());
        self.0.update(value);
    }

    pub(crate) fn finish(self) -> ObjectId {
        ObjectId(self.0.finalize().into())
    }

    /// Returns a short form that is never 0.
    pub(crate) fn finish_short(self) -> u64 {
        let ObjectId(bytes) = self.finish();
        let mut short = [0; 8];
        short.copy_from_slice(&bytes[..8]);
        u64::from_le_bytes(short).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_git() {
        assert_eq!(
            BlobHash::of(b"hello\n").to_string(),
            "ce013625030ba8dba906f756967f9e9ca394464a"
        );
        assert_eq!(BlobHash::of(b"").to_string(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
    }
}
