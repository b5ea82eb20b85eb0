//! The name of a git object.

use std::fmt;

use super::Error;

/// The id of a commit, tree, blob or tag: 40 lower-case hex digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid(String);

impl Oid {
    /// Reads an id as git prints it; white space around it does not matter.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let id = text.trim();
        if id.len() == 40 && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Ok(Self(id.to_owned()));
        }
        Err(Error::NotAnId { text: text.to_owned() })
    }

    /// Returns an id that no object has, the same for the same seed.
    pub fn unknown(seed: u64) -> Self {
        Self(format!("{seed:040x}"))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the 20 bytes that stand in a tree.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let digit = |b: u8| if b.is_ascii_digit() { b - b'0' } else { b - b'a' + 10 };
        self.0.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl AsRef<str> for Oid {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl AsRef<std::ffi::OsStr> for Oid {
    fn as_ref(&self) -> &std::ffi::OsStr {
        self.0.as_ref()
    }
}
