//! From the refs that a remote advertises to the one commit that is meant.
//!
//! Listing refs and reading history is `stoker-git`'s work. Controller, agent and CLI share these
//! functions, so that the same wanted ref is the same commit everywhere.
//!
//! # Flow
//!
//! [`Wanted::read`], then [`resolve`] with what the remote advertises. Only for a commit id that is
//! no advertised tip, and for a short id, the answer is [`Answer::NeedsHistory`]; [`resolve_in`]
//! finishes with the [`History`] that was read.
//!
//! # Promises
//!
//! The order is fixed: full `refs/…`, branch, tag, 40 digits, short id, range. 40 hexadecimal
//! digits are always a commit. A commit that no advertised branch or tag reaches is refused, unless
//! that is explicitly allowed.

mod error;
pub mod range;
mod wanted;

use stoker_api::word::{Commit, RefName};

pub use error::{Error, Warning};
pub use wanted::{Scope, Wanted};

use range::{Range, version_of_tag};

const HEADS: &str = "refs/heads/";
const TAGS: &str = "refs/tags/";
/// What a remote calls the branch that a clone would check out.
pub(crate) const HEAD: &str = "HEAD";

/// One ref as a remote advertises it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdvertisedRef {
    /// The full name, `refs/…`.
    pub name: Box<str>,
    /// The object that the ref names: a commit, or the object of an annotated tag.
    pub object: Commit,
    /// What an annotated tag leads to, through any number of tags.
    pub peeled: Option<Commit>,
}

/// A wanted ref and the commit that it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// The full name of the ref, or the commit's own id where an id was wanted.
    pub name: Box<str>,
    /// The commit.
    pub commit: Commit,
    /// What the user should know about the choice.
    pub warnings: Vec<Warning>,
}

/// What the advertised refs say about a wanted ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The commit is known.
    Resolved(Resolution),
    /// The id is none of the tips: only the history of branches and tags can tell.
    NeedsHistory(HistoryQuery),
}

/// Which commit is looked for in the history: 7 to 40 hexadecimal digits, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HistoryQuery {
    /// The digits that the commit's id begins with.
    pub digits: Box<str>,
}

/// What the history of all advertised branches and tags says about a [`HistoryQuery`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// The commits that begin with the wanted digits and that a branch or a tag reaches.
    pub reachable: Vec<Commit>,
}

/// Whether a commit that no branch or tag reaches may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreachable {
    /// It is refused: anyone who can open a pull request could have made it.
    Refused,
    /// It is used, because the user said so.
    Allowed,
}

/// Finds `wanted` among the refs that the remote advertises.
pub fn resolve(wanted: &Wanted, advertised: &[AdvertisedRef]) -> Result<Answer, Error> {
    let is_all = matches!(wanted.scope(), Scope::BranchesAndTags | Scope::All);
    if advertised.is_empty() && is_all {
        return Err(Error::Empty { wanted: wanted.name() });
    }
    match wanted {
        Wanted::Full(name) => find(advertised, name.as_str())
            .map(|found| Answer::Resolved(found.resolution()))
            .ok_or_else(|| not_found(name, advertised)),
        Wanted::Commit(commit) => Ok(resolve_commit(commit, advertised)),
        Wanted::Name(name) => resolve_name(name, advertised),
        Wanted::Version { name, range } => newest(name, range, advertised),
    }
}

/// Finishes what [`resolve`] could not answer, with the history of all branches and tags.
pub fn resolve_in(
    history: &History,
    wanted: &Wanted,
    unreachable: Unreachable,
) -> Result<Resolution, Error> {
    match (history.reachable.as_slice(), wanted.as_commit()) {
        ([commit], _) => Ok(Resolution::of_commit(commit.clone())),
        ([], Some(commit)) if unreachable == Unreachable::Allowed => Ok(Resolution {
            warnings: vec![Warning::Unreachable { commit: commit.clone() }],
            ..Resolution::of_commit(commit.clone())
        }),
        ([], Some(_)) => Err(Error::Unreachable { wanted: wanted.name() }),
        ([], None) => Err(Error::NotFound { wanted: wanted.name(), nearest: None }),
        (candidates, _) => {
            Err(Error::Ambiguous { wanted: wanted.name(), candidates: candidates.to_vec() })
        }
    }
}

/// Returns the tips of all branches and tags: where the history of a remote begins.
pub fn tips(advertised: &[AdvertisedRef]) -> impl Iterator<Item = &AdvertisedRef> {
    advertised.iter().filter(|found| found.name.starts_with(HEADS) || found.name.starts_with(TAGS))
}

fn resolve_commit(commit: &Commit, advertised: &[AdvertisedRef]) -> Answer {
    let tip =
        tips(advertised).find(|tip| tip.object == *commit || tip.peeled.as_ref() == Some(commit));
    match tip {
        Some(tip) => Answer::Resolved(Resolution::of_commit(tip.commit().clone())),
        None => Answer::NeedsHistory(HistoryQuery { digits: commit.as_str().into() }),
    }
}

fn resolve_name(name: &RefName, advertised: &[AdvertisedRef]) -> Result<Answer, Error> {
    let branch = find(advertised, &format!("{HEADS}{name}"));
    let tag = find(advertised, &format!("{TAGS}{name}"));
    let head = advertised.iter().find(|found| &*found.name == HEAD && name.as_str() == HEAD);
    match (branch.or(head), tag) {
        (Some(branch), Some(tag)) => Ok(Answer::Resolved(Resolution {
            warnings: vec![Warning::BranchAndTag {
                branch: branch.name.clone(),
                tag: tag.name.clone(),
            }],
            ..branch.resolution()
        })),
        (Some(found), None) | (None, Some(found)) => Ok(Answer::Resolved(found.resolution())),
        (None, None) if name.is_short_commit() => Ok(Answer::NeedsHistory(HistoryQuery {
            digits: name.as_str().to_ascii_lowercase().into(),
        })),
        (None, None) if is_short(name) => match not_found(name, advertised) {
            Error::NotFound { wanted, nearest: None } => Err(Error::TooShort { wanted }),
            error => Err(error),
        },
        (None, None) => Err(not_found(name, advertised)),
    }
}

/// A few hexadecimal digits with a number among them: the beginning of an id, cut too short.
fn is_short(name: &RefName) -> bool {
    let digits = name.as_str().as_bytes();
    (4..7).contains(&digits.len())
        && digits.iter().all(u8::is_ascii_hexdigit)
        && digits.iter().any(u8::is_ascii_digit)
}

fn newest(name: &RefName, range: &Range, advertised: &[AdvertisedRef]) -> Result<Answer, Error> {
    let mut versions: Vec<_> = advertised
        .iter()
        .filter_map(|found| Some((version_of_tag(found.name.strip_prefix(TAGS)?)?, found)))
        .collect();
    let total = versions.len();
    versions.retain(|(version, _)| range.holds(version));
    // The version decides; the name only makes the choice between equals the same everywhere.
    versions.sort_by(|(a, one), (b, other)| {
        b.cmp_precedence(a).then_with(|| one.name.cmp(&other.name))
    });
    let Some(((version, taken), rest)) = versions.split_first() else {
        return Err(Error::NoVersion { wanted: name.clone(), versions: total });
    };
    let twins = rest.iter().take_while(|(other, _)| other.cmp_precedence(version).is_eq());
    let warnings = twins
        .filter(|(_, other)| other.commit() != taken.commit())
        .map(|(_, other)| Warning::SameVersion {
            taken: taken.name.clone(),
            other: other.name.clone(),
        })
        .collect();
    Ok(Answer::Resolved(Resolution { warnings, ..taken.resolution() }))
}

fn find<'a>(advertised: &'a [AdvertisedRef], name: &str) -> Option<&'a AdvertisedRef> {
    advertised.iter().find(|found| &*found.name == name)
}

/// A branch that differs in case, or the default branch of the other age, is the usual mistake.
fn not_found(wanted: &RefName, advertised: &[AdvertisedRef]) -> Error {
    let alike = |found: &&AdvertisedRef| {
        let short = found.name.strip_prefix(HEADS).or_else(|| found.name.strip_prefix(TAGS));
        let short = short.unwrap_or(&found.name);
        found.name.eq_ignore_ascii_case(wanted.as_str())
            || short.eq_ignore_ascii_case(wanted.as_str())
            || matches!((wanted.as_str(), short), ("main", "master") | ("master", "main"))
            || short.rsplit('/').next() == Some(wanted.as_str())
    };
    let nearest = advertised.iter().find(alike).map(|found| found.name.clone());
    Error::NotFound { wanted: wanted.clone(), nearest }
}

impl AdvertisedRef {
    /// Returns the commit that the ref leads to.
    pub fn commit(&self) -> &Commit {
        self.peeled.as_ref().unwrap_or(&self.object)
    }

    fn resolution(&self) -> Resolution {
        Resolution { name: self.name.clone(), commit: self.commit().clone(), warnings: Vec::new() }
    }
}

impl Resolution {
    fn of_commit(commit: Commit) -> Self {
        Self { name: commit.as_str().into(), commit, warnings: Vec::new() }
    }
}

#[cfg(test)]
mod tests;
