//! The value that a patch sets.

use super::{scan, text};

/// A value as it will stand in the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchValue {
    json: String,
    depth: usize,
}

impl PatchValue {
    /// Reads a value: a JSON literal is itself, digit for digit; everything else is a string.
    ///
    /// With blanks around it it is no literal, or they would be lost. `"7"` in quotes is the
    /// string 7.
    pub fn parse(value: &str) -> Self {
        let padding = [' ', '\t', '\r', '\n', '\u{feff}'];
        let is_padded = value.starts_with(padding) || value.ends_with(padding);
        if !is_padded && scan::validate(value.as_bytes()).is_ok() {
            return Self { json: value.to_owned(), depth: scan::depth(value) };
        }
        Self::string(value)
    }

    /// Returns a string, whatever it looks like.
    pub fn string(value: &str) -> Self {
        Self { json: text::quoted(value), depth: 0 }
    }

    /// Returns the value as JSON.
    pub fn as_json(&self) -> &str {
        &self.json
    }

    /// Returns how many objects and lists are nested in the value.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }
}
