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

/// The kinds of warnings. The names are part of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// A symbolic link in a mapped directory was skipped.
    SymlinkSkipped,
    /// A submodule in a mapped directory was skipped.
    SubmoduleSkipped,
    /// The source of an optional mapping is not in the commit; its destination is left alone.
    SourceAbsent,
    /// Git holds a path that is the identity of one gateway; it was not written.
    IdentityPath,
    /// Git holds the gateway's own cache (`.resources`); it was not written.
    RuntimeFilesInGit,
    /// A patch names a file that no file of its mapping matches.
    PatchUnmatched,
    /// The record of the last sync could not be read; files were compared by content.
    ManifestCorrupt,
    /// A live file had been changed by someone else and was overwritten by a change in git.
    DriftOverwritten,
    /// A later mapping put a directory where an earlier one had a file, or the reverse.
    MappingShadowed,
    /// A run that had been killed was finished or undone.
    Recovered,
}

impl Code {
    const ALL: [Self; 10] = [
        Self::SymlinkSkipped,
        Self::SubmoduleSkipped,
        Self::SourceAbsent,
        Self::IdentityPath,
        Self::RuntimeFilesInGit,
        Self::PatchUnmatched,
        Self::ManifestCorrupt,
        Self::DriftOverwritten,
        Self::MappingShadowed,
        Self::Recovered,
    ];

    /// Returns the name that scripts match on.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SymlinkSkipped => "SymlinkSkipped",
            Self::SubmoduleSkipped => "SubmoduleSkipped",
            Self::SourceAbsent => "SourceAbsent",
            Self::IdentityPath => "IdentityPath",
            Self::RuntimeFilesInGit => "RuntimeFilesInGit",
            Self::PatchUnmatched => "PatchUnmatched",
            Self::ManifestCorrupt => "ManifestCorrupt",
            Self::DriftOverwritten => "DriftOverwritten",
            Self::MappingShadowed => "MappingShadowed",
            Self::Recovered => "Recovered",
        }
    }

    /// Finds a kind by its name.
    pub(crate) fn parse(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str().as_bytes() == name)
    }

    /// Returns whether the cause lies in the commit and the profile, so that it holds until they
    /// change, even for runs that do not look there again.
    pub(crate) fn is_standing(self) -> bool {
        match self {
            Self::SymlinkSkipped
            | Self::SubmoduleSkipped
            | Self::SourceAbsent
            | Self::IdentityPath
            | Self::RuntimeFilesInGit
            | Self::PatchUnmatched
            | Self::MappingShadowed => true,
            Self::ManifestCorrupt | Self::DriftOverwritten | Self::Recovered => false,
        }
    }
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
