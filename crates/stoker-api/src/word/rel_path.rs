//! A path below a root: below the repository, or below a gateway's data directory.

use std::borrow::Cow;

use crate::limit;
use crate::word::word;

word! {
    /// A relative path that can't leave its root. The root itself is the empty path.
    ///
    /// Kept without `.` components, doubled and trailing slashes: `./a//b/` is `a/b`.
    RelPath, RelPathError
}

/// Why a text is no path below a root.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RelPathError {
    /// The text is too long.
    #[error("a path has at most {most} characters, this has {0}", most = limit::PATH)]
    Long(usize),
    /// The path begins at the root of the file system.
    #[error("the path must be relative: remove the leading \"/\"")]
    Absolute,
    /// The path would be taken for an option.
    #[error("a path can't begin with \"-\": write \"./-…\"")]
    Dash,
    /// The path climbs out of its root.
    #[error("the path can't hold \"..\"")]
    Parent,
    /// The path holds a control character.
    #[error("{0:?} is not allowed in a path")]
    Character(char),
}

impl RelPath {
    /// Returns the root itself.
    pub fn root() -> Self {
        Self("".into())
    }

    /// Says whether this is the root itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the components, none for the root.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|component| !component.is_empty())
    }

    /// Returns the last component, none for the root.
    pub fn file_name(&self) -> Option<&str> {
        self.components().next_back()
    }

    /// Returns the path one level up, none for the root.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        Some(Self(self.0.rsplit_once('/').map_or("", |(parent, _)| parent).into()))
    }

    /// Returns `other` below this path.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        match (self.is_root(), other.is_root()) {
            (true, _) => other.clone(),
            (_, true) => self.clone(),
            _ => Self(format!("{self}/{other}").into()),
        }
    }

    /// Returns what of this path lies below `root`, none where it lies elsewhere.
    pub fn below(&self, root: &Self) -> Option<Self> {
        if root.is_root() || self == root {
            let rest = if root.is_root() { self.clone() } else { Self::root() };
            return Some(rest);
        }
        let rest = self.0.strip_prefix(&*root.0)?.strip_prefix('/')?;
        Some(Self(rest.into()))
    }

    fn check(text: &str) -> Result<Cow<'_, str>, RelPathError> {
        let length = text.chars().count();
        if length > limit::PATH {
            return Err(RelPathError::Long(length));
        }
        if text.starts_with('/') {
            return Err(RelPathError::Absolute);
        }
        if text.starts_with('-') {
            return Err(RelPathError::Dash);
        }
        if let Some(character) = text.chars().find(|c| c.is_control()) {
            return Err(RelPathError::Character(character));
        }
        if text.split('/').any(|component| component == "..") {
            return Err(RelPathError::Parent);
        }
        Ok(normalise(text))
    }
}

fn normalise(text: &str) -> Cow<'_, str> {
    let empty = |component: &str| matches!(component, "" | ".");
    if !text.is_empty() && !text.split('/').any(empty) {
        return text.into();
    }
    let kept: Vec<&str> = text.split('/').filter(|component| !empty(component)).collect();
    kept.join("/").into()
}
