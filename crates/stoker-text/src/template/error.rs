//! Where a template is wrong, and why.

use std::fmt;

/// A fault in a template or in rendering it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct TemplateError {
    /// The line, counted from 1.
    pub line: usize,
    /// The character in that line, counted from 1.
    pub column: usize,
    /// What is wrong, in a sentence without a full stop.
    pub message: String,
    /// The field that has no value, such as `.GatewayName` or `.Vars.site`, if that is the fault.
    pub missing: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Position {
    pub(super) const START: Self = Self { line: 1, column: 1 };

    pub(super) fn error(self, message: impl fmt::Display) -> TemplateError {
        let Self { line, column } = self;
        TemplateError { line, column, message: message.to_string(), missing: None }
    }

    pub(super) fn after(self, text: &str) -> Self {
        match text.rfind('\n') {
            None => Self { line: self.line, column: self.column + text.chars().count() },
            Some(last) => {
                let lines = text.bytes().filter(|byte| *byte == b'\n').count();
                let tail = text.get(last + 1..).unwrap_or_default();
                Self { line: self.line + lines, column: tail.chars().count() + 1 }
            }
        }
    }
}
