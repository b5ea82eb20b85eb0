//! JSON edits that keep every other byte: field patches, and `resource.json` of Ignition.
//!
//! A document is scanned in place and changed by one splice per edit, so that key order, blanks,
//! line ends, a byte order mark and numbers of any length survive. Paths have the syntax of sjson;
//! wildcards and queries are refused.
//!
//! Promises: a document that is not JSON is an error with line and column, never a guess; what
//! comes out of an edit is JSON again; nesting, padding and values are bounded (B14).

mod edit;
mod error;
mod path;
mod resource;
mod scan;
#[cfg(test)]
mod tests;
mod text;

use std::borrow::Cow;
use std::collections::BTreeMap;

pub use error::{JsonError, JsonFault, PathFault};
pub use resource::resource_equivalent;

use path::Path;

/// How deep objects and lists may be nested.
pub const MAX_DEPTH: usize = 128;

/// How many nulls may be put before an element that lies beyond the end of a list.
pub const MAX_PADDING: usize = 10_000;

/// The largest value that a patch may set, in bytes.
pub const MAX_VALUE: usize = 1 << 20;

/// A value as it will stand in the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchValue {
    json: String,
    depth: usize,
}

/// Checks that the document is JSON, with or without a byte order mark.
pub fn validate(document: &[u8]) -> Result<(), JsonError> {
    scan::validate(document).map(|_root| ())
}

/// Checks that a path can be used in a patch, without a document.
pub fn validate_path(path: &str) -> Result<(), JsonError> {
    Path::parse(path).map(|_path| ())
}

/// Returns the value at a path as it is written, or nothing where the document has none.
pub fn get<'d>(document: &'d [u8], path: &str) -> Result<Option<&'d [u8]>, JsonError> {
    let path = Path::parse(path)?;
    let root = scan::validate(document)?;
    Ok(edit::find(document, root, &path)?.and_then(|span| document.get(span)))
}

/// Sets the value at a path and leaves every other byte as it is.
///
/// What is missing on the way is made: a number makes a list padded with nulls, `-1` appends,
/// anything else makes an object. A scalar in the way is replaced. Of duplicate keys the first
/// changes.
pub fn set(document: &[u8], path: &str, value: &PatchValue) -> Result<Vec<u8>, JsonError> {
    let root = scan::validate(document)?;
    edit::set(document, root, &Path::parse(path)?, value)
}

/// Sets several values, in the order of their paths; values are read as [`PatchValue::parse`].
pub fn set_all(document: &[u8], values: &BTreeMap<String, String>) -> Result<Vec<u8>, JsonError> {
    let root = scan::validate(document)?;
    values.iter().try_fold(document.to_vec(), |document, (path, value)| {
        edit::set(&document, root, &Path::parse(path)?, &PatchValue::parse(value))
    })
}

/// Removes a member with its comma and its line; every other byte stays.
///
/// The names lead from the outermost object inwards. Should the member be there twice, both go.
pub fn remove_member<'d>(document: &'d [u8], names: &[&str]) -> Result<Cow<'d, [u8]>, JsonError> {
    let root = scan::validate(document)?;
    let mut document = Cow::Borrowed(document);
    while let Some(span) = edit::member_span(&document, root, names)? {
        document.to_mut().drain(span);
    }
    Ok(document)
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
    fn depth(&self) -> usize {
        self.depth
    }
}
