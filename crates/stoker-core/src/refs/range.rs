//! Version ranges of `semver:RANGE`: which versions they hold, and which tags are versions.
//!
//! The rules are our own, because the `semver` crate's requirements disagree with what `cli.md`
//! promises: blanks separate comparators as commas do, missing parts of a bound are zero, and
//! pre-releases are in play if, and only if, the range names one.

use semver::{BuildMetadata, Prerelease, Version};

/// The longest range that is read; a ref is shorter than that.
const MAX_BYTES: usize = 255;

/// A set of versions: alternatives (`||`), each a list of bounds that all must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    alternatives: Vec<Vec<Bound>>,
    pre_releases: bool,
}

/// Why a text is not a range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no comparator where one should be.
    #[error("the version range is empty; write for example \"semver:>=2.0 <3\"")]
    Empty,
    /// The text is longer than any ref may be.
    #[error("the version range is longer than {MAX_BYTES} bytes")]
    TooLong,
    /// A comparator can't be read.
    #[error(
        "{text:?} is not a version comparator; use =, <, <=, >, >=, ^, ~ or x, for example \
         \"semver:^2.1\""
    )]
    Comparator {
        /// The comparator as it was written.
        text: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Bound {
    Equal(Version),
    Below(Version),
    UpTo(Version),
    Above(Version),
    AtLeast(Version),
}

/// A version as people write it in a range: parts may be missing or wild.
struct Partial {
    major: Option<u64>,
    minor: Option<u64>,
    patch: Option<u64>,
    pre: Prerelease,
    wild: bool,
}

enum Part {
    Number(u64),
    Wild,
    Missing,
}

impl Range {
    /// Parses what follows `semver:`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.len() > MAX_BYTES {
            return Err(Error::TooLong);
        }
        let mut range = Self { alternatives: Vec::new(), pre_releases: false };
        for alternative in text.split("||") {
            let mut bounds = Vec::new();
            for comparator in comparators(alternative)? {
                let (operator, partial) = parse_comparator(&comparator)?;
                range.pre_releases |= !partial.pre.is_empty();
                bounds.extend(
                    bounds_of(operator, &partial)
                        .ok_or(Error::Comparator { text: comparator.clone() })?,
                );
            }
            range.alternatives.push(bounds);
        }
        Ok(range)
    }

    /// Returns whether the range holds `version`.
    pub fn holds(&self, version: &Version) -> bool {
        (version.pre.is_empty() || self.pre_releases)
            && self
                .alternatives
                .iter()
                .any(|bounds| bounds.iter().all(|bound| bound.holds(version)))
    }
}

/// Reads the name of a tag (`2.1.0`, `v2.1.0`, `v2.1`) as a version; missing parts are zero.
pub fn version_of_tag(tag: &str) -> Option<Version> {
    let text = tag.strip_prefix('v').unwrap_or(tag);
    let (text, build) = match text.split_once('+') {
        Some((text, build)) => (text, BuildMetadata::new(build).ok()?),
        None => (text, BuildMetadata::EMPTY),
    };
    let partial = Partial::parse(text)?;
    (!partial.wild).then(|| Version { build, ..partial.floor() })
}

/// Splits at blanks and commas; an operator may stand apart from its version (`>= 2.0`).
fn comparators(text: &str) -> Result<Vec<String>, Error> {
    let mut found: Vec<String> = Vec::new();
    for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
        match found.last_mut() {
            Some(last) if last.chars().all(|c| "=<>^~".contains(c)) => last.push_str(word),
            _ => found.push(word.to_owned()),
        }
    }
    if found.is_empty() { Err(Error::Empty) } else { Ok(found) }
}

fn parse_comparator(text: &str) -> Result<(&str, Partial), Error> {
    let version_at = text.find(|c| !"=<>^~".contains(c)).unwrap_or(text.len());
    let (operator, version) = text.split_at(version_at);
    let version = version.strip_prefix('v').unwrap_or(version);
    let partial =
        Partial::parse(version).ok_or_else(|| Error::Comparator { text: text.to_owned() })?;
    Ok((operator, partial))
}

fn bounds_of(operator: &str, partial: &Partial) -> Option<Vec<Bound>> {
    let floor = partial.floor();
    Some(match operator {
        "" if partial.is_whole() => vec![Bound::Equal(floor)],
        // `~` is the same minor version, or the same major one where that is all there is.
        "" | "~" => partial.wild(),
        "=" | "==" if partial.wild => partial.wild(),
        "=" | "==" => vec![Bound::Equal(floor)],
        "<" => vec![below(floor)],
        "<=" => vec![Bound::UpTo(floor)],
        ">" => vec![Bound::Above(floor)],
        ">=" => vec![Bound::AtLeast(floor)],
        "^" => partial.caret(),
        _ => return None,
    })
}

impl Bound {
    fn holds(&self, version: &Version) -> bool {
        match self {
            Self::Equal(bound) => version.cmp_precedence(bound).is_eq(),
            Self::Below(bound) => version.cmp_precedence(bound).is_lt(),
            Self::UpTo(bound) => version.cmp_precedence(bound).is_le(),
            Self::Above(bound) => version.cmp_precedence(bound).is_gt(),
            Self::AtLeast(bound) => version.cmp_precedence(bound).is_ge(),
        }
    }
}

impl Partial {
    fn parse(text: &str) -> Option<Self> {
        let (core, pre) = match text.split_once('-') {
            Some((core, pre)) if !pre.is_empty() => (core, Prerelease::new(pre).ok()?),
            Some(_) => return None,
            None => (text, Prerelease::EMPTY),
        };
        let mut parts = core.split('.').map(part);
        let major = parts.next()??;
        let minor = parts.next().unwrap_or(Some(Part::Missing))?;
        let patch = parts.next().unwrap_or(Some(Part::Missing))?;
        if parts.next().is_some() {
            return None;
        }
        let wild = [&major, &minor, &patch].into_iter().any(|part| matches!(part, Part::Wild));
        // `1.x.3` and `1.x-rc.1` have no meaning that two people would agree on.
        let ordered = !(major.number().is_none() && minor.number().is_some()
            || minor.number().is_none() && patch.number().is_some());
        let sensible = ordered && (pre.is_empty() || !wild);
        sensible.then(|| Self {
            major: major.number(),
            minor: minor.number(),
            patch: patch.number(),
            pre,
            wild,
        })
    }

    fn is_whole(&self) -> bool {
        self.patch.is_some()
    }

    /// The version itself, or the lowest one that the missing and wild parts allow.
    fn floor(&self) -> Version {
        Version {
            major: self.major.unwrap_or(0),
            minor: self.minor.unwrap_or(0),
            patch: self.patch.unwrap_or(0),
            pre: self.pre.clone(),
            build: BuildMetadata::EMPTY,
        }
    }

    /// `2.x`, `2`: everything that begins so.
    fn wild(&self) -> Vec<Bound> {
        match (self.major, self.minor) {
            (None, _) => vec![Bound::AtLeast(self.floor())],
            (Some(major), None) => self.up_to(above(major).map(|major| (major, 0, 0))),
            (Some(major), Some(minor)) => self.up_to(above(minor).map(|minor| (major, minor, 0))),
        }
    }

    /// `^2.1`: up to the next change of the leftmost part that is not zero.
    fn caret(&self) -> Vec<Bound> {
        let next = match (self.major, self.minor, self.patch) {
            (Some(0), Some(0), Some(patch)) => above(patch).map(|patch| (0, 0, patch)),
            (Some(0), Some(minor), _) => above(minor).map(|minor| (0, minor, 0)),
            (Some(major), _, _) => above(major).map(|major| (major, 0, 0)),
            (None, _, _) => None,
        };
        self.up_to(next)
    }

    fn up_to(&self, next: Option<(u64, u64, u64)>) -> Vec<Bound> {
        let mut bounds = vec![Bound::AtLeast(self.floor())];
        bounds.extend(next.map(|(major, minor, patch)| below(Version::new(major, minor, patch))));
        bounds
    }
}

impl Part {
    fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Wild | Self::Missing => None,
        }
    }
}

fn part(text: &str) -> Option<Part> {
    match text {
        "x" | "X" | "*" => Some(Part::Wild),
        "0" => Some(Part::Number(0)),
        _ if text.starts_with('0') || !text.bytes().all(|byte| byte.is_ascii_digit()) => None,
        _ => text.parse().ok().map(Part::Number),
    }
}

fn above(part: u64) -> Option<u64> {
    part.checked_add(1)
}

/// `<3` leaves out `3.0.0-rc.1`, too: who asks for less than 3 does not want its candidates.
fn below(mut version: Version) -> Bound {
    if version.pre.is_empty() {
        version.pre = Prerelease::new("0").expect("0 is a valid pre-release");
    }
    Bound::Below(version)
}

#[cfg(test)]
mod tests;
