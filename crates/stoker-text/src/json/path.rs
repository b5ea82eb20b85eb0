//! Paths as sjson writes them: parts between dots, `\` before a literal character, `:0` for a name
//! that looks like an index.

use super::{JsonError, MAX_DEPTH, PathFault};

#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) text: String,
    pub(super) parts: Vec<Part>,
}

/// One step of the way: a member of an object, or an element of a list.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    pub(super) name: String,
    /// Written with a colon: a name, whatever it looks like.
    is_name: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Index {
    At(usize),
    Append,
}

impl Path {
    pub(super) fn parse(text: &str) -> Result<Self, JsonError> {
        let refused = |fault| JsonError::Path { path: text.to_owned(), fault };
        let mut parts = Vec::new();
        let mut part = Part::default();
        let mut begun = false;
        let mut chars = text.chars();
        while let Some(char) = chars.next() {
            match char {
                '.' if !begun => return Err(refused(PathFault::EmptyPart)),
                '.' => {
                    parts.push(std::mem::take(&mut part));
                    begun = false;
                    continue;
                }
                ':' if !begun => part.is_name = true,
                '#' | '*' | '?' | '|' => return Err(refused(PathFault::Wildcard(char))),
                '\\' => {
                    let literal = chars.next().ok_or_else(|| refused(PathFault::DanglingEscape))?;
                    part.name.push(literal);
                }
                _ => part.name.push(char),
            }
            begun = true;
        }
        if !begun {
            return Err(refused(PathFault::EmptyPart));
        }
        parts.push(part);
        if parts.len() > MAX_DEPTH {
            return Err(refused(PathFault::TooDeep));
        }
        Ok(Self { text: text.to_owned(), parts })
    }

    pub(super) fn error(&self, fault: PathFault) -> JsonError {
        JsonError::Path { path: self.text.clone(), fault }
    }
}

impl Part {
    /// Returns what the part means for a list, if it is an index at all.
    pub(super) fn index(&self) -> Option<Index> {
        if self.is_name || self.name.is_empty() {
            return None;
        }
        if self.name == "-1" {
            return Some(Index::Append);
        }
        let digits = self.name.bytes().all(|byte| byte.is_ascii_digit());
        // Too long for a number is too far for a list, which the caller says.
        digits.then(|| Index::At(self.name.parse().unwrap_or(usize::MAX)))
    }
}
