//! The exclude list of a profile: globs, and the product's rules for directories.

use super::{Glob, GlobError, GlobFault, expand};

/// A set of exclude patterns.
///
/// A pattern means what [`Glob`] says, with two additions. A pattern that matches a directory also
/// excludes everything below it. A trailing slash stands for a directory only: upstream `**/.git/`
/// matches names that end in a slash, which no relative path does; here it works.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excludes {
    rules: Vec<Rule>,
}

/// A pattern of the list that can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("excludePatterns[{index}] is not usable")]
pub struct ExcludeError {
    /// Its place in the list, counted from 0.
    pub index: usize,
    /// What is wrong with it.
    pub source: GlobError,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    Path(Glob),
    /// The pattern of the directory, without its slash.
    Directory(Glob),
}

impl Excludes {
    /// Parses a list of patterns; the first that is wrong is the error.
    pub fn parse<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, ExcludeError> {
        let mut rules = Vec::new();
        for (index, text) in patterns.into_iter().enumerate() {
            rules.extend(parse_rules(text).map_err(|source| ExcludeError { index, source })?);
        }
        Ok(Self { rules })
    }

    /// Returns whether this file is excluded.
    pub fn excludes(&self, file: &[u8]) -> bool {
        self.rules.iter().any(|rule| rule.excludes(file))
    }

    /// Returns whether everything below this directory is certainly excluded, so that a walk can
    /// turn back. The empty path is the root.
    pub fn excludes_all_below(&self, directory: &[u8]) -> bool {
        self.rules.iter().any(|rule| rule.excludes_all_below(directory))
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

impl Rule {
    fn parse(text: &str) -> Result<Self, GlobError> {
        let directory = text.trim_end_matches('/');
        if directory.len() == text.len() {
            return Glob::parse(text).map(Self::Path);
        }
        // An escaped slash is still a slash; what escaped it goes with it.
        let backslashes = directory.bytes().rev().take_while(|byte| *byte == b'\\').count();
        let escapes = backslashes % 2;
        let directory = directory.get(..directory.len() - escapes).unwrap_or_default();
        Glob::parse(directory).map(Self::Directory)
    }

    fn excludes(&self, file: &[u8]) -> bool {
        match self {
            Self::Path(glob) => glob.matches_path_or_ancestor(file),
            Self::Directory(glob) => glob.matches_ancestor(file),
        }
    }

    fn excludes_all_below(&self, directory: &[u8]) -> bool {
        match self {
            Self::Path(glob) => {
                glob.matches_all_below(directory) || matches_directory(glob, directory)
            }
            Self::Directory(glob) => matches_directory(glob, directory),
        }
    }
}

/// Returns whether a pattern matches a directory or one above it.
fn matches_directory(glob: &Glob, directory: &[u8]) -> bool {
    !directory.is_empty() && glob.matches_path_or_ancestor(directory)
}

/// Reads one pattern of the list; each alternative of its braces may have a trailing slash.
fn parse_rules(text: &str) -> Result<Vec<Rule>, GlobError> {
    let whole = Glob::parse(text)?;
    let refused = |fault| GlobError { pattern: text.to_owned(), position: 1, fault };
    let alternatives = expand::alternatives(whole.as_str()).map_err(|(_, fault)| refused(fault))?;
    if alternatives.iter().all(|alternative| is_unreachable(alternative)) {
        return Err(refused(GlobFault::Unreachable));
    }
    alternatives.iter().map(|alternative| Rule::parse(alternative)).collect()
}

/// A pattern that no relative path can match would be ignored without a word.
fn is_unreachable(pattern: &str) -> bool {
    let path = pattern.trim_end_matches('/');
    path.is_empty() || path.split('/').any(|segment| matches!(segment, "" | "." | ".."))
}
