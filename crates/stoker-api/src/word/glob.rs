//! What the schema can say about a glob; matching, and the last word on syntax, is another crate's.

use crate::limit;

/// Why a text can't be a glob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GlobError {
    /// The glob is empty.
    #[error("a glob can't be empty")]
    Empty,
    /// The glob is too long.
    #[error("a glob has at most {most} characters, this has {0}", most = limit::PATH)]
    Long(usize),
    /// The glob holds a control character.
    #[error("{0:?} is not allowed in a glob")]
    Character(char),
    /// A `[` or a `{` is never closed.
    #[error("{0:?} is never closed")]
    Unclosed(char),
    /// The glob ends with a backslash that escapes nothing.
    #[error("the glob ends with \"\\\", which escapes nothing")]
    Dangling,
}

/// Checks that brackets and braces are closed and that no escape dangles.
pub fn check(text: &str) -> Result<(), GlobError> {
    let length = text.chars().count();
    if length == 0 {
        return Err(GlobError::Empty);
    }
    if length > limit::PATH {
        return Err(GlobError::Long(length));
    }
    if let Some(character) = text.chars().find(|c| c.is_control()) {
        return Err(GlobError::Character(character));
    }
    check_closed(text)
}

fn check_closed(text: &str) -> Result<(), GlobError> {
    let (mut braces, mut in_class) = (0_usize, false);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' if characters.next().is_none() => return Err(GlobError::Dangling),
            '[' if !in_class => in_class = true,
            ']' if in_class => in_class = false,
            '{' if !in_class => braces += 1,
            '}' if !in_class => braces = braces.saturating_sub(1),
            _ => {}
        }
    }
    match (in_class, braces) {
        (true, _) => Err(GlobError::Unclosed('[')),
        (false, 0) => Ok(()),
        (false, _) => Err(GlobError::Unclosed('{')),
    }
}
