//! Path globs with the meaning of doublestar v4, matched in time linear in the path.
//!
//! `*` and `?` stay within a path segment, `**` between slashes spans segments, `[a-c]`, `[^a]` and
//! `{a,b/c}` work, a backslash makes the next character literal. Paths are bytes with `/` between
//! segments; what is not UTF-8 is matched byte by byte.
//!
//! Promise: a pattern is either understood in full or refused with the place and the reason; it is
//! never quietly ignored (R50). [`Excludes`] adds the product's own rule for a trailing slash.

mod excludes;
mod expand;
mod machine;
mod parse;
#[cfg(test)]
mod tests;

pub use excludes::{ExcludeError, Excludes};

use machine::Program;

/// The longest pattern that is accepted, in bytes.
pub const MAX_PATTERN: usize = 512;

/// A pattern, ready to be matched.
#[derive(Clone, Debug)]
pub struct Glob {
    pattern: String,
    alternatives: Vec<Program>,
}

/// What is wrong with a pattern, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bad glob {pattern:?} at character {position}: {fault}")]
pub struct GlobError {
    /// The pattern as it was given.
    pub pattern: String,
    /// The character at which the fault begins, counted from 1.
    pub position: usize,
    /// What is wrong there.
    pub fault: GlobFault,
}

/// The ways in which a pattern can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum GlobFault {
    #[error("nothing follows the backslash")]
    DanglingEscape,
    #[error("the character class is not closed with ]")]
    UnclosedClass,
    #[error("the character class is empty; write \\] for the bracket itself")]
    EmptyClass,
    #[error("the alternatives are not closed with }}")]
    UnclosedAlternatives,
    #[error("this }} closes nothing; write \\}} for the brace itself")]
    StrayBrace,
    #[error("the pattern is longer than {MAX_PATTERN} bytes")]
    TooLong,
    #[error("the alternatives multiply to too many patterns; split this into several")]
    TooManyAlternatives,
    #[error("no relative path can match this; leave out leading slashes and empty, . or .. parts")]
    Unreachable,
}

impl Glob {
    /// Parses a pattern, or says where and why it is wrong.
    pub fn parse(pattern: &str) -> Result<Self, GlobError> {
        let alternatives = parse::programs(pattern).map_err(|(offset, fault)| GlobError {
            pattern: pattern.to_owned(),
            position: pattern.get(..offset).map_or(0, |before| before.chars().count()) + 1,
            fault,
        })?;
        Ok(Self { pattern: pattern.to_owned(), alternatives })
    }

    /// Returns the pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.pattern
    }

    /// Returns whether the pattern matches the whole path.
    pub fn matches(&self, path: &[u8]) -> bool {
        self.alternatives.iter().any(|program| program.matcher().matches(path))
    }

    /// Returns whether everything strictly below this directory certainly matches. The empty path is
    /// the root.
    pub fn matches_all_below(&self, directory: &[u8]) -> bool {
        self.alternatives.iter().any(|program| program.matcher().matches_all_below(directory))
    }

    /// Returns whether the pattern matches a directory above this path.
    pub fn matches_ancestor(&self, path: &[u8]) -> bool {
        self.alternatives.iter().any(|program| program.matcher().matches_ancestor(path))
    }

    /// Returns whether the pattern matches the path or a directory above it.
    pub fn matches_path_or_ancestor(&self, path: &[u8]) -> bool {
        self.alternatives.iter().any(|program| program.matcher().matches_path_or_ancestor(path))
    }
}

impl PartialEq for Glob {
    fn eq(&self, other: &Self) -> bool {
        self.pattern == other.pattern
    }
}

impl Eq for Glob {}
