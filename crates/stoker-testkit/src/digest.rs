//! SHA-256 as the hexadecimal text that image archives and cache names are made of.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// The digest of the parts, one after the other.
pub(crate) fn sha256(parts: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part);
    }
    digest.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a String takes all that is written to it");
        text
    })
}
