//! What can be wrong with a document, a path or a value.

use super::{MAX_DEPTH, MAX_PADDING, MAX_VALUE};

/// A document that can't be read, or an edit that can't be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "a field is named after what it holds")]
pub enum JsonError {
    /// The document is not JSON.
    #[error("invalid JSON at line {line}, column {column}: {fault}")]
    Invalid {
        /// The line, counted from 1.
        line: usize,
        /// The character in that line, counted from 1.
        column: usize,
        fault: JsonFault,
    },
    /// The path can't be used, or not in this document.
    #[error("bad path {path:?}: {fault}")]
    Path { path: String, fault: PathFault },
    /// The value to set is larger than [`MAX_VALUE`].
    #[error("the value for {path:?} is larger than {MAX_VALUE} bytes")]
    ValueTooLarge {
        /// The path that it is for.
        path: String,
    },
}

/// The ways in which a document is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonFault {
    /// The document ends too early.
    #[error("the document ends here")]
    UnexpectedEnd,
    /// A value should stand here.
    #[error("a value is expected")]
    ExpectedValue,
    /// A member name should stand here.
    #[error("a name in double quotes is expected")]
    ExpectedName,
    /// A colon should stand here.
    #[error("a colon is expected")]
    ExpectedColon,
    /// A comma or the closing bracket should stand here.
    #[error("a comma or the closing bracket is expected")]
    ExpectedCommaOrEnd,
    /// This is not how JSON writes numbers.
    #[error("this is not a number")]
    BadNumber,
    /// A backslash is followed by something that JSON does not know.
    #[error("this escape is not known to JSON")]
    BadEscape,
    /// A control character stands in a text without an escape.
    #[error("a control character must be escaped")]
    ControlCharacter,
    /// Something follows the document.
    #[error("the document is complete, but something follows")]
    TrailingText,
    /// The bytes are not UTF-8.
    #[error("this is not UTF-8")]
    NotUtf8,
    /// The nesting is deeper than [`MAX_DEPTH`].
    #[error("objects and lists are nested more than {MAX_DEPTH} deep")]
    TooDeep,
}

/// The ways in which a path is of no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    /// There is nothing between two dots, or nothing at all.
    #[error("a part is empty; write \\. for a dot within a name")]
    EmptyPart,
    /// Nothing follows the last backslash.
    #[error("nothing follows the backslash")]
    DanglingEscape,
    /// Wildcards and queries are not supported.
    #[error("{0:?} is not supported; write \\{0} for the character itself")]
    Wildcard(char),
    /// The path, with the value at its end, is deeper than [`MAX_DEPTH`].
    #[error("the path and its value are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    /// The part should be a number, because the document has a list there.
    #[error("the document has a list there, and {0:?} is not an index")]
    NotAnIndex(String),
    /// The index lies too far beyond the end of the list.
    #[error("the index {0} lies more than {MAX_PADDING} beyond the end of the list")]
    TooFar(String),
}

impl JsonError {
    /// Returns the error for a fault at an offset of the document.
    pub(super) fn at(document: &[u8], offset: usize, fault: JsonFault) -> Self {
        let before = document.get(..offset).unwrap_or(document);
        let before = before.strip_prefix(super::scan::BOM).unwrap_or(before);
        let line = before.split(|byte| *byte == b'\n').count();
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let tail = String::from_utf8_lossy(before.get(start..).unwrap_or_default());
        Self::Invalid { line, column: 1 + tail.chars().count(), fault }
    }
}
