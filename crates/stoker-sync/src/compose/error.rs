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
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("failed to read the source")]
    Read { source: source::Error },
    #[error("the source {path:?} does not exist{}", did_you_mean(.nearest.as_ref()))]
    SourceMissing {
        path: RelPath,
        /// A path of the commit that is spelled like it.
        nearest: Option<RelPath>,
    },
    #[error("the source {path:?} is, or lies beneath, a symbolic link; links are not followed")]
    SourceIsLink { path: RelPath },
    #[error("the source {path:?} is, or lies beneath, a submodule; submodules are not fetched")]
    SourceIsSubmodule { path: RelPath },
    /// A mapping's source is a pipe, a socket or a device.
    #[error("the source {path:?} is neither a file nor a directory")]
    SourceIsSpecial { path: RelPath },
    #[error("the source {path:?} should be a {wanted} and is a {found}")]
    WrongKind { path: RelPath, wanted: &'static str, found: &'static str },
    #[error("the file {file:?} is mapped to {path:?}, which is a directory of another mapping")]
    FileOverDirectory { path: RelPath, file: RelPath },
    #[error("the destination {path:?} is reserved by Stoker")]
    ReservedDestination { path: RelPath },
    #[error("{} can't be written: {}", count_names(.refused), list_names(.refused))]
    Names {
        /// The first of them, with the reasons.
        refused: Vec<Refused>,
    },
    #[error("{path:?} and {twin:?} are one name on this volume, which ignores case")]
    CaseTwins { path: RelPath, twin: RelPath },
    #[error("there are more than 65,535 mappings")]
    TooManyMappings,
    #[error("the mapped directories hold more than {most} files and directories")]
    TooManyEntries { most: usize },
    #[error("the directories in {path:?} lie within each other more than {most} deep")]
    TooDeep { path: RelPath, most: usize },
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
