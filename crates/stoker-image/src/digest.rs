//! SHA-256 as hexadecimal text, the form that image archives and cache names use.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// Returns the digest of the parts, one after the other.
pub fn sha256(parts: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part);
    }
    digest.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a String does not fail");
        text
    })
}
