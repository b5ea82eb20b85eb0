//! The halves of a data directory that a gateway scans, and which of them a change touches.

use std::fmt;

/// One half of the data directory; each has its own scan and its own lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Half {
    /// `projects/`, always scanned first.
    Projects,
    /// `config/`.
    Config,
}

/// The halves that a change touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Halves {
    projects: bool,
    config: bool,
}

impl Half {
    const ORDER: [Self; 2] = [Self::Projects, Self::Config];

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

    /// Returns the halves that these destination paths, relative to the data directory, lie in.
    ///
    /// The first component decides; paths elsewhere touch nothing that a gateway scans.
    pub fn of<P: AsRef<[u8]>>(paths: impl IntoIterator<Item = P>) -> Self {
        paths.into_iter().fold(Self::NONE, |halves, path| {
            let first = path.as_ref().split(|byte| *byte == b'/').next();
            match Half::ORDER.into_iter().find(|half| Some(half.name().as_bytes()) == first) {
                Some(half) => halves.with(half),
                None => halves,
            }
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

    /// Returns whether it is among them.
    pub fn contains(self, half: Half) -> bool {
        match half {
            Half::Projects => self.projects,
            Half::Config => self.config,
        }
    }

    /// Returns whether there are none.
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// Iterates in the order of scanning: projects, then config.
    pub fn iter(self) -> impl Iterator<Item = Half> {
        Half::ORDER.into_iter().filter(move |half| self.contains(*half))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The first component of the destination decides which half is scanned.
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
