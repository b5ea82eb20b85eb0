//! What users are told about a ref: warnings where it was resolved, errors where it was not.

use std::fmt::{self, Display, Formatter};

use stoker_api::word::{Commit, RefName};

use super::range;

/// How many candidates an error lists.
const LISTED: usize = 10;

/// What a user should know about a resolution that succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "a field is named after what it holds")]
pub enum Warning {
    /// The name is both a branch and a tag.
    BranchAndTag { branch: Box<str>, tag: Box<str> },
    /// Two tags are the same version and different commits.
    SameVersion { taken: Box<str>, other: Box<str> },
    /// No branch or tag reaches the commit, and the user allowed that.
    Unreachable { commit: Commit },
}

/// Why a ref could not be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "a field is named after what it holds")]
pub enum Error {
    /// The text after `semver:` is no range.
    #[error("{wanted:?} is not a version range")]
    Range { wanted: RefName, source: range::Error },
    /// The remote has no such ref.
    #[error("ref {wanted:?} is not on the remote{}", Nearest(.nearest))]
    NotFound {
        wanted: RefName,
        /// The full name of a ref that looks like it.
        nearest: Option<Box<str>>,
    },
    /// The remote has no branch and no tag at all.
    #[error("the repository is empty: it has no branch and no tag, so not {wanted:?} either")]
    Empty { wanted: RefName },
    /// No ref has the name, and it is too short for a commit id.
    #[error(
        "ref {wanted:?} is not on the remote, and as a commit id it is too short: 7 digits are needed"
    )]
    TooShort { wanted: RefName },
    /// No tag is a version in the range.
    #[error("no tag of the remote is a version in {wanted:?} ({versions} tags are versions)")]
    NoVersion { wanted: RefName, versions: usize },
    /// More than one commit begins with the digits.
    #[error("{wanted:?} is ambiguous: {}", Candidates(.candidates))]
    Ambiguous { wanted: RefName, candidates: Vec<Commit> },
    /// No branch or tag of the remote reaches the commit.
    #[error("no branch or tag of the remote reaches the commit {wanted:?}")]
    Unreachable { wanted: RefName },
}

struct Nearest<'a>(&'a Option<Box<str>>);

struct Candidates<'a>(&'a [Commit]);

impl Display for Warning {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::BranchAndTag { branch, tag } => write!(
                formatter,
                "the name is both a branch and a tag: {branch:?} was taken, not {tag:?}"
            ),
            Self::SameVersion { taken, other } => write!(
                formatter,
                "two tags are the same version of different commits: {taken:?} was taken, not {other:?}"
            ),
            Self::Unreachable { commit } => {
                write!(formatter, "no branch or tag of the remote reaches the commit {commit}")
            }
        }
    }
}

impl Display for Nearest<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |name| write!(formatter, "; did you mean {name:?}?"))
    }
}

impl Display for Candidates<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let shown: Vec<_> = self.0.iter().take(LISTED).map(Commit::as_str).collect();
        formatter.write_str(&shown.join(", "))?;
        match self.0.len().saturating_sub(LISTED) {
            0 => Ok(()),
            more => write!(formatter, " and {more} more"),
        }
    }
}
