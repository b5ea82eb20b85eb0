//! Why the mapped files can't be composed.

use std::fmt;

use crate::cancel::Cancelled;
use crate::path::{Quoted, RelPath};
use crate::reserved::NameFault;
use crate::source;

/// Names may be longer than any message.
const MOST_SHOWN: usize = 300;

/// Why there is nothing to plan from.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "a field is named after what it holds")]
pub enum Error {
    /// The source failed.
    #[error("failed to read the source")]
    Read { source: source::Error },
    /// A required mapping has no source.
    #[error("the source {path:?} does not exist{}", did_you_mean(.nearest.as_ref()))]
    SourceMissing {
        path: RelPath,
        /// A path of the commit that is spelled like it.
        nearest: Option<RelPath>,
    },
    /// A mapping's source is or lies beneath a symbolic link.
    #[error("the source {path:?} is, or lies beneath, a symbolic link; links are not followed")]
    SourceIsLink { path: RelPath },
    /// A mapping's source is or lies beneath a submodule.
    #[error("the source {path:?} is, or lies beneath, a submodule; submodules are not fetched")]
    SourceIsSubmodule { path: RelPath },
    /// A mapping's source is a pipe, a socket or a device.
    #[error("the source {path:?} is neither a file nor a directory")]
    SourceIsSpecial { path: RelPath },
    /// A mapping's `type` does not fit its source.
    #[error("the source {path:?} should be a {wanted} and is a {found}")]
    WrongKind {
        path: RelPath,
        /// What the mapping says.
        wanted: &'static str,
        /// What the commit holds.
        found: &'static str,
    },
    /// A file is mapped to a path that is a directory of another mapping.
    #[error("the file {file:?} is mapped to {path:?}, which is a directory of another mapping")]
    FileOverDirectory {
        path: RelPath,
        /// The source of the file mapping.
        file: RelPath,
    },
    /// A destination lies in a directory of ours.
    #[error("the destination {path:?} is reserved by Stoker")]
    ReservedDestination { path: RelPath },
    /// Names that can't be written.
    #[error("{} can't be written: {}", count_names(.refused), list_names(.refused))]
    Names {
        /// The first of them, with the reasons.
        refused: Vec<Refused>,
    },
    /// Two names that this volume takes for one.
    #[error("{path:?} and {twin:?} are one name on this volume, which ignores case")]
    CaseTwins {
        /// One of them.
        path: RelPath,
        /// The other.
        twin: RelPath,
    },
    /// More mappings than there are numbers for them.
    #[error("there are more than 65,535 mappings")]
    TooManyMappings,
    /// The tree unfolds to more files and directories than any honest one.
    #[error("the mapped directories hold more than {most} files and directories")]
    TooManyEntries {
        /// How many are taken.
        most: usize,
    },
    /// Directories lie within each other further than any honest ones.
    #[error("the directories in {path:?} lie within each other more than {most} deep")]
    TooDeep {
        /// Where they begin.
        path: RelPath,
        /// How deep is taken.
        most: usize,
    },
    /// The run was asked to end.
    #[error(transparent)]
    Cancelled(Cancelled),
}

/// A name that can't be written. It must not become part of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Where it would be.
    pub directory: RelPath,
    /// Its bytes.
    pub name: Box<[u8]>,
    /// What is wrong with it.
    pub fault: NameFault,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { directory, name, fault } = self;
        let shown = &name[..name.len().min(MOST_SHOWN)];
        let slash: &[u8] = if directory.is_root() { b"" } else { b"/" };
        let place = [directory.as_bytes(), slash, shown].concat();
        let more = if shown.len() < name.len() { "…" } else { "" };
        write!(f, "{:?}{more} {fault}", Quoted(&place))
    }
}

fn did_you_mean(nearest: Option<&RelPath>) -> String {
    nearest.map_or_else(String::new, |path| format!("; did you mean {path:?}?"))
}

fn count_names(refused: &[Refused]) -> String {
    if refused.len() == 1 { "a name".into() } else { format!("{} names", refused.len()) }
}

fn list_names(refused: &[Refused]) -> String {
    refused.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl Error {
    pub(crate) fn reading(source: source::Error) -> Self {
        match source {
            source::Error::Cancelled => Self::Cancelled(Cancelled),
            source => Self::Read { source },
        }
    }
}
