//! The ref that a user wants: branch, tag, commit, full name or semver range.
//!
//! Resolving it to a commit is `stoker-core`'s work. The promise here: no [`RefName`] can be taken
//! for an option or a revision expression by git, and none holds a control character.

use std::borrow::Cow;

use crate::limit;
use crate::word::{Commit, word};

word! {
    /// A wanted ref: branch, tag, full or short commit id, `refs/…`, or `semver:` with a range.
    RefName, RefNameError
}

/// Why a text can't be a ref.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RefNameError {
    /// The text is empty.
    #[error("a ref can't be empty")]
    Empty,
    /// The text is too long.
    #[error("a ref has at most {most} characters, this has {0}", most = limit::REF)]
    Long(usize),
    /// The text would be taken for an option.
    #[error("a ref can't begin with \"-\"")]
    Dash,
    /// The text holds a sequence that git reads as a revision expression.
    #[error("{0:?} is not allowed in a ref")]
    Sequence(&'static str),
    /// The text holds a character that git refuses in refs.
    #[error("{0:?} is not allowed in a ref")]
    Character(char),
    /// A component of the text is one that git refuses.
    #[error("git takes no ref with the component {0:?}")]
    Component(Box<str>),
    /// The text after `semver:` is no range.
    #[error("\"semver:\" needs a range such as \">=2.0 <3\"")]
    Range,
}

/// What the text of a semver range may hold.
const RANGE: &str = "<>=^~*.+-, |";

impl RefName {
    /// Marks a ref as a range of versions instead of a name.
    pub const SEMVER: &str = "semver:";

    /// Returns the range, where the ref is `semver:RANGE`.
    ///
    /// No branch or tag can be meant instead: git refuses `:` in their names.
    pub fn semver_range(&self) -> Option<&str> {
        self.0.strip_prefix(Self::SEMVER)
    }

    /// Returns the commit, where the ref is a full commit id.
    pub fn as_commit(&self) -> Option<Commit> {
        Commit::parse(&self.0).ok()
    }

    /// Says whether the ref could be a short commit id: 7 to 39 hexadecimal digits.
    pub fn is_short_commit(&self) -> bool {
        (7..40).contains(&self.0.len()) && self.0.bytes().all(|b| b.is_ascii_hexdigit())
    }

    /// Says whether the ref is a full name that begins with `refs/`.
    pub fn is_full_name(&self) -> bool {
        self.0.starts_with("refs/")
    }

    fn check(text: &str) -> Result<Cow<'_, str>, RefNameError> {
        let length = text.chars().count();
        match length {
            0 => return Err(RefNameError::Empty),
            length if length > limit::REF => return Err(RefNameError::Long(length)),
            _ => {}
        }
        if let Some(sequence) = ["..", "@{", "//"].into_iter().find(|s| text.contains(s)) {
            return Err(RefNameError::Sequence(sequence));
        }
        match text.strip_prefix(Self::SEMVER) {
            Some(range) => check_range(range)?,
            None => check_name(text)?,
        }
        Ok(text.into())
    }
}

fn check_range(range: &str) -> Result<(), RefNameError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || RANGE.contains(c);
    if let Some(character) = range.chars().find(|c| !allowed(*c)) {
        return Err(RefNameError::Character(character));
    }
    let names_a_version = |c: char| c.is_ascii_digit() || matches!(c, '*' | 'x' | 'X');
    if range.contains(names_a_version) { Ok(()) } else { Err(RefNameError::Range) }
}

/// The rules of `git check-ref-format`, and no leading dash.
fn check_name(text: &str) -> Result<(), RefNameError> {
    if text.starts_with('-') {
        return Err(RefNameError::Dash);
    }
    let refused = |c: &char| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(*c);
    if let Some(character) = text.chars().find(refused) {
        return Err(RefNameError::Character(character));
    }
    let refused = |component: &&str| {
        component.is_empty()
            || component.starts_with('.')
            || component.ends_with('.')
            || component.strip_suffix(".lock").is_some()
    };
    let alone = (text == "@").then_some("@");
    match alone.or_else(|| text.split('/').find(refused)) {
        Some(component) => Err(RefNameError::Component(component.into())),
        None => Ok(()),
    }
}
