//! What a run wants people to know although it went on.

use std::fmt;

use crate::path::RelPath;

/// Something that was skipped, adopted or repaired.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Warning {
    /// What kind of thing it is; scripts match on it.
    pub code: Code,
    /// The path it is about, below the data root or, for sources, below the repository's root.
    pub path: RelPath,
    /// One sentence for people.
    pub message: String,
}

/// The kinds of warnings; the engine gives the first of them.
pub use stoker_api::warning::WarningCode as Code;

/// Returns whether the cause lies in the commit and the profile, so that it holds until they
/// change, even for runs that do not look there again.
pub(crate) fn is_standing(code: Code) -> bool {
    matches!(
        code,
        Code::SymlinkSkipped
            | Code::SubmoduleSkipped
            | Code::SpecialSkipped
            | Code::SourceAbsent
            | Code::IdentityPath
            | Code::RuntimeFilesInGit
            | Code::PatchUnmatched
            | Code::MappingShadowed
    )
}

impl Warning {
    /// Makes a warning about `path`.
    pub(crate) fn new(code: Code, path: RelPath, message: impl Into<String>) -> Self {
        Self { code, path, message: message.into() }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}
