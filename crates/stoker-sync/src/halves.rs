//! The two halves of a data directory that a gateway scans, each with its own scan and its own lock.

use std::fmt;

use crate::path;

/// One half of the data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Half {
    /// `projects/`
    Projects,
    /// `config/`
    Config,
}

/// The halves that a change touches, or that a scan is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Halves {
    /// `projects/`
    pub projects: bool,
    /// `config/`
    pub config: bool,
}

impl Half {
    /// The order of locking and scanning. Nothing else decides it: every loop over halves is
    /// [`Halves::iter`], which follows this list.
    pub const ORDER: [Self; 2] = [Self::Projects, Self::Config];

    /// Returns the directory, which is also the last part of the gateway's routes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Projects => "projects",
            Self::Config => "config",
        }
    }
}

impl fmt::Display for Half {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Halves {
    /// Neither: nothing to scan.
    pub const NONE: Self = Self { projects: false, config: false };
    /// Both.
    pub const BOTH: Self = Self { projects: true, config: true };

    /// Returns the halves that destination paths, relative to the data directory, lie in.
    ///
    /// The first component decides; paths elsewhere touch nothing that a gateway scans.
    pub fn of<P: AsRef<[u8]>>(paths: impl IntoIterator<Item = P>) -> Self {
        paths.into_iter().fold(Self::NONE, |halves, path| {
            let hit =
                Half::ORDER.iter().find(|half| path::within(path.as_ref(), half.name().as_bytes()));
            hit.map_or(halves, |half| halves.with(*half))
        })
    }

    /// Adds one.
    #[must_use]
    pub fn with(self, half: Half) -> Self {
        match half {
            Half::Projects => Self { projects: true, ..self },
            Half::Config => Self { config: true, ..self },
        }
    }

    /// Returns what is in either.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { projects: self.projects || other.projects, config: self.config || other.config }
    }

    /// Returns what is in this one only.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self { projects: self.projects && !other.projects, config: self.config && !other.config }
    }

    /// Returns whether one is among them.
    pub fn contains(self, half: Half) -> bool {
        match half {
            Half::Projects => self.projects,
            Half::Config => self.config,
        }
    }

    /// Returns whether there are none.
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// Iterates in the order of scanning, [`Half::ORDER`].
    pub fn iter(self) -> impl Iterator<Item = Half> {
        Half::ORDER.into_iter().filter(move |half| self.contains(*half))
    }

    pub(crate) fn to_bits(self) -> u8 {
        u8::from(self.projects) | u8::from(self.config) << 1
    }

    pub(crate) fn from_bits(bits: u8) -> Self {
        Self { projects: bits & 1 != 0, config: bits & 2 != 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_component_decides() {
        let cases: [(&[&str], Halves); 7] = [
            (&[], Halves::NONE),
            (&["projects/plant/project.json"], Halves::NONE.with(Half::Projects)),
            (&["config/resources/core/x"], Halves::NONE.with(Half::Config)),
            (&["config/a", "projects/b"], Halves::BOTH),
            (&["logs/projects/x", "var/config", "projects2/x", "Projects/x"], Halves::NONE),
            (&["projects"], Halves::NONE.with(Half::Projects)),
            (&["x/projects/y", "configs"], Halves::NONE),
        ];
        for (paths, halves) in cases {
            assert_eq!(Halves::of(paths), halves, "{paths:?}");
        }
    }

    #[test]
    fn names_need_not_be_utf_8() {
        assert_eq!(Halves::of([b"config/\xff".as_slice()]), Halves::NONE.with(Half::Config));
    }

    #[test]
    fn projects_come_first() {
        assert!(Halves::BOTH.iter().eq([Half::Projects, Half::Config]));
    }
}
