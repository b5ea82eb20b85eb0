//! Names of commits, gateways and profiles.

use std::borrow::Cow;

use crate::limit;
use crate::word::word;

word! {
    /// The full id of a commit: 40 hexadecimal digits, kept in lower case.
    Commit, CommitError
}

word! {
    /// The name of a gateway; it may stand in a path, so it is one path component.
    GatewayName, NameError
}

word! {
    /// The name of a profile: letters, digits, `-`, `_` and `.`, like the value of a label.
    ProfileName, NameError
}

/// Why a text is not the id of a commit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// The text does not have 40 characters.
    #[error("a commit id has 40 hexadecimal digits, this has {0} characters")]
    Length(usize),
    /// The text holds something that is no hexadecimal digit.
    #[error("a commit id has hexadecimal digits only")]
    Digit,
}

/// Why a text is not a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The text is empty.
    #[error("a name can't be empty")]
    Empty,
    /// The text is longer than names may be.
    #[error("a name has at most {limit} characters, this has {found}")]
    Long {
        /// Characters that a name may have.
        limit: usize,
        /// Characters that it has.
        found: usize,
    },
    /// The text holds a character that names can't hold.
    #[error("{0:?} is not allowed in a name")]
    Character(char),
    /// The text begins or ends in a way that names can't.
    #[error("a name must begin and end with a letter or a digit")]
    Edge,
    /// The text is a path component with a meaning of its own.
    #[error("{0:?} is not a name")]
    Reserved(Box<str>),
}

impl Commit {
    /// Returns the first seven digits, as people and forges shorten a commit.
    pub fn short(&self) -> &str {
        &self.0[..7]
    }

    fn check(text: &str) -> Result<Cow<'_, str>, CommitError> {
        let length = text.chars().count();
        if length != 40 {
            return Err(CommitError::Length(length));
        }
        if !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(CommitError::Digit);
        }
        Ok(text.to_ascii_lowercase().into())
    }
}

impl GatewayName {
    fn check(text: &str) -> Result<Cow<'_, str>, NameError> {
        bound(text, limit::GATEWAY_NAME)?;
        let refused = |c: &char| c.is_control() || matches!(c, '/' | '\\');
        if let Some(character) = text.chars().find(refused) {
            return Err(NameError::Character(character));
        }
        if matches!(text, "." | "..") {
            return Err(NameError::Reserved(text.into()));
        }
        if text.trim() != text || text.starts_with('-') {
            return Err(NameError::Edge);
        }
        Ok(text.into())
    }
}

impl ProfileName {
    /// The profile of pods that name none.
    pub const DEFAULT: &str = "default";

    fn check(text: &str) -> Result<Cow<'_, str>, NameError> {
        bound(text, limit::PROFILE_NAME)?;
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if let Some(character) = text.chars().find(|c| !allowed(*c)) {
            return Err(NameError::Character(character));
        }
        let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        if !edge(text.chars().next()) || !edge(text.chars().next_back()) {
            return Err(NameError::Edge);
        }
        Ok(text.into())
    }
}

/// Says whether `text` can be the key of a variable: a letter or `_`, then letters, digits and `_`.
///
/// Templates reach a variable as `{{.Vars.key}}`, and Go's grammar allows nothing else there.
pub fn is_identifier(text: &str) -> bool {
    text.len() <= limit::PROFILE_NAME
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn bound(text: &str, limit: usize) -> Result<(), NameError> {
    let found = text.chars().count();
    match found {
        0 => Err(NameError::Empty),
        found if found > limit => Err(NameError::Long { limit, found }),
        _ => Ok(()),
    }
}
