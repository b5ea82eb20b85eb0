//! A value that never prints.

use std::fmt::{self, Debug, Formatter};

use zeroize::Zeroizing;

/// A credential: it has no `Display`, its `Debug` is `[redacted]`, and its memory is wiped.
///
/// Code that needs the bytes says so with [`Secret::reveal`], which is easy to search for.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes the content of a Secret's key or of a mounted file; one trailing newline is dropped.
    pub fn from_file(mut content: Vec<u8>) -> Self {
        if content.last() == Some(&b'\n') {
            content.pop();
            if content.last() == Some(&b'\r') {
                content.pop();
            }
        }
        Self(Zeroizing::new(content))
    }

    /// Takes a value exactly as it is.
    pub fn new(value: impl Into<Vec<u8>>) -> Self {
        Self(Zeroizing::new(value.into()))
    }

    /// Returns the value, for the one place that hands it on.
    pub fn reveal(&self) -> &[u8] {
        &self.0
    }

    /// Says whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Debug for Secret {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("[redacted]")
    }
}
