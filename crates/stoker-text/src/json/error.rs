//! What can be wrong with a document, a path or a value.

use super::{MAX_DEPTH, MAX_PADDING, MAX_VALUE};

/// A document that can't be read, or an edit that can't be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum JsonError {
    #[error("invalid JSON at line {line}, column {column}: {fault}")]
    Invalid {
        /// The line, counted from 1.
        line: usize,
        /// The character in that line, counted from 1.
        column: usize,
        fault: JsonFault,
    },
    #[error("bad path {path:?}: {fault}")]
    Path { path: String, fault: PathFault },
    #[error("the value for {path:?} is larger than {MAX_VALUE} bytes")]
    ValueTooLarge { path: String },
}

/// The ways in which a document is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum JsonFault {
    #[error("the document ends here")]
    UnexpectedEnd,
    #[error("a value is expected")]
    ExpectedValue,
    #[error("a name in double quotes is expected")]
    ExpectedName,
    #[error("a colon is expected")]
    ExpectedColon,
    #[error("a comma or the closing bracket is expected")]
    ExpectedCommaOrEnd,
    #[error("this is not a number")]
    BadNumber,
    #[error("this escape is not known to JSON")]
    BadEscape,
    #[error("a control character must be escaped")]
    ControlCharacter,
    #[error("the document is complete, but something follows")]
    TrailingText,
    #[error("this is not UTF-8")]
    NotUtf8,
    #[error("objects and lists are nested more than {MAX_DEPTH} deep")]
    TooDeep,
}

/// The ways in which a path is of no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum PathFault {
    #[error("a part is empty; write \\. for a dot within a name")]
    EmptyPart,
    #[error("nothing follows the backslash")]
    DanglingEscape,
    #[error("{0:?} is not supported; write \\{0} for the character itself")]
    Wildcard(char),
    #[error("the path and its value are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    #[error("the document has a list there, and {0:?} is not an index")]
    NotAnIndex(String),
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
