//! Warnings of a run: the run continued, but a person should know.

use std::fmt;

use crate::path::RelPath;
use crate::report::Listed;
use crate::request::Origin;

const MOST_NAMED: usize = 3;

/// Something that was skipped, adopted or repaired.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Warning {
    /// What kind of thing it is; scripts match on it.
    pub code: WarningCode,
    /// The path it is about, below the data root or, for sources, below the repository's root.
    pub path: RelPath,
    /// One sentence for people.
    pub message: String,
}

/// The kinds of warnings; the engine gives the first of them.
pub use stoker_api::warning::WarningCode;

/// Returns whether the cause lies in the commit and the profile, so that it holds until they
/// change, even for runs that do not check there again.
pub(crate) fn is_standing(code: WarningCode) -> bool {
    // Without `_`, so that a new code can't be forgotten here.
    match code {
        WarningCode::SymlinkSkipped
        | WarningCode::SubmoduleSkipped
        | WarningCode::SpecialSkipped
        | WarningCode::SourceAbsent
        | WarningCode::IdentityPath
        | WarningCode::RuntimeFilesInGit
        | WarningCode::PatchUnmatched
        | WarningCode::MappingShadowed => true,
        WarningCode::ManifestCorrupt
        | WarningCode::DriftOverwritten
        | WarningCode::ForeignFilesKept
        | WarningCode::OtherSource
        | WarningCode::Recovered
        | WarningCode::Drift
        | WarningCode::Paused
        | WarningCode::DeletionBlocked
        | WarningCode::Unfinished
        | WarningCode::AmbiguousRef
        | WarningCode::UnreachableCommit
        | WarningCode::GatewayNotReady
        | WarningCode::NoScanLock
        | WarningCode::ScanLockLost
        | WarningCode::NotVerified
        | WarningCode::DocumentSkipped
        | WarningCode::ReferenceUnused
        | WarningCode::CredentialUnused => false,
    }
}

impl Warning {
    pub(crate) fn new(code: WarningCode, path: RelPath, message: impl Into<String>) -> Self {
        Self { code, path, message: message.into() }
    }
}

/// Returns the warning about files that no sync brought and that were kept, if there are any.
pub(crate) fn of_kept(kept: &Listed) -> Option<Warning> {
    let first = kept.paths.first()?;
    let names = kept.paths.iter().take(MOST_NAMED).map(ToString::to_string).collect::<Vec<_>>();
    let more = if kept.count > names.len() as u64 { ", …" } else { "" };
    let message = if kept.count == 1 {
        "this file was kept: no sync brought it".to_owned()
    } else {
        let names = names.join(", ");
        format!("{} files were kept that no sync brought: {names}{more}", kept.count)
    };
    Some(Warning::new(WarningCode::ForeignFilesKept, first.clone(), message))
}

/// Returns the warning about files that another process has brought from elsewhere.
pub(crate) fn of_other_source(last: &Origin, now: &Origin) -> Option<Warning> {
    let is_same = last.is_same_repository(now) && last.reference == now.reference;
    if is_same || last.process == now.process {
        return None;
    }
    let Origin { repository, reference, process } = last;
    let message = format!(
        "the last run brought {reference:?} of {repository:?} ({process}); this one brings {:?} of \
         {:?}",
        now.reference, now.repository
    );
    Some(Warning::new(WarningCode::OtherSource, RelPath::root(), message))
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}
