//! What a user may want: the five kinds of refs, and what has to be listed for each.

use stoker_api::word::{Commit, RefName};

use super::{Error, range::Range};

/// A wanted ref, read by its form alone.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "a field is named after what it holds")]
pub enum Wanted {
    /// A full name, `refs/…`.
    Full(RefName),
    /// 40 hexadecimal digits: always a commit, even if a branch has that name.
    Commit(Commit),
    /// A branch, a tag, or, if there is none of that name, a short commit id.
    Name(RefName),
    /// The newest version in a range.
    Version { name: RefName, range: Range },
}

/// Which refs have to be listed to resolve a wanted ref; the fewer, the less a remote has to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Branches.
    Branches,
    /// Tags.
    Tags,
    /// Branches and tags.
    BranchesAndTags,
    /// Every ref: pull requests and the like, which a full name may ask for.
    All,
}

impl Wanted {
    /// Reads a ref by its form.
    pub fn read(name: &RefName) -> Result<Self, Error> {
        if let Some(text) = name.semver_range() {
            let range = Range::parse(text)
                .map_err(|source| Error::Range { wanted: name.clone(), source })?;
            return Ok(Self::Version { name: name.clone(), range });
        }
        Ok(match name.as_commit() {
            Some(commit) => Self::Commit(commit),
            None if name.is_full_name() => Self::Full(name.clone()),
            None => Self::Name(name.clone()),
        })
    }

    /// Returns which refs have to be listed.
    pub fn scope(&self) -> Scope {
        match self {
            Self::Full(name) if name.as_str().starts_with(super::HEADS) => Scope::Branches,
            Self::Full(name) if name.as_str().starts_with(super::TAGS) => Scope::Tags,
            Self::Full(_) => Scope::All,
            Self::Name(name) if name.as_str() == super::HEAD => Scope::All,
            Self::Commit(_) | Self::Name(_) => Scope::BranchesAndTags,
            Self::Version { .. } => Scope::Tags,
        }
    }

    /// Returns the ref as text.
    pub fn name(&self) -> RefName {
        match self {
            Self::Full(name) | Self::Name(name) | Self::Version { name, .. } => name.clone(),
            Self::Commit(commit) => {
                RefName::parse(commit.as_str()).expect("40 hexadecimal digits are a valid ref")
            }
        }
    }

    pub(super) fn as_commit(&self) -> Option<&Commit> {
        match self {
            Self::Commit(commit) => Some(commit),
            Self::Full(_) | Self::Name(_) | Self::Version { .. } => None,
        }
    }
}
