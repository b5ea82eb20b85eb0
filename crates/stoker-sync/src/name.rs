//! What may be called what: names that no tree may hold, names that a gateway can't take, and
//! paths that belong to the gateway or to us.
//!
//! The rules look at bytes only. They are asked before anything is written.

use crate::compose::Case;
use crate::path::{self, RelPath};

/// The directory with our own state, below the data root.
pub const STATE_DIR: &str = ".stoker";
/// The directory that holds new files until they are renamed into place.
pub const STAGING_DIR: &str = ".sync-staging";
/// What the name of every temporary file of ours begins with.
pub(crate) const TEMPORARY_PREFIX: &[u8] = b".stoker-";
/// The file that makes a directory an Ignition resource; it is placed last.
pub(crate) const RESOURCE_MANIFEST: &[u8] = b"resource.json";

/// The longest name of a file that Linux takes.
const MAX_NAME: usize = 255;
/// Identity of one gateway, with all that lies below: never shared, never touched.
const IDENTITY: [&[u8]; 5] = [
    b"config/local",
    b"config/resources/local",
    b"valueStore.idb",
    b"redundancy.xml",
    b".ignition-seed-complete",
];
/// The gateway's own cache, wherever it is.
const RUNTIME_CACHE: &[u8] = b".resources";

/// Why a name is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameFault {
    /// It is empty, `.` or `..`, or has a slash or a NUL in it.
    #[error("is not the name of a file")]
    NotAName,
    /// It is longer than a file system takes.
    #[error("is longer than 255 bytes")]
    TooLong,
    /// The path to it is longer than Linux takes.
    #[error("makes a path longer than the system takes")]
    PathTooLong,
    /// It is `.git` in some spelling.
    #[error("is reserved by git")]
    Git,
    /// It is the name of our state, our staging, or our temporary files.
    #[error("is reserved by Stoker")]
    Reserved,
    /// Ignition refuses the character.
    #[error("has the character {0:?}, which Ignition does not take")]
    Character(char),
    /// It begins or ends with a dot or a blank.
    #[error("begins or ends with a dot or a blank, which Ignition does not take")]
    Edge,
    /// It is not UTF-8.
    #[error("is not UTF-8, which Ignition does not take")]
    NotUtf8,
    /// One directory of the commit has it twice.
    #[error("is there twice, which git itself never writes")]
    Twice,
}

/// Whose a path is, apart from mappings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeper {
    /// The gateway's identity: keystores, redundancy, the store of values.
    Identity,
    /// The gateway's cache (`.resources`).
    RuntimeCache,
    /// Our own state, staging or temporary files.
    Stoker,
}

/// Checks one entry of a tree before it becomes part of a path.
pub fn check_component(name: &[u8]) -> Result<(), NameFault> {
    if matches!(name, b"" | b"." | b"..") || name.contains(&b'/') || name.contains(&0) {
        return Err(NameFault::NotAName);
    }
    if name.len() > MAX_NAME {
        return Err(NameFault::TooLong);
    }
    Ok(())
}

/// Checks a destination that is about to be written, `name` being its last component.
pub(crate) fn check_destination(path: &[u8], longest: usize) -> Result<(), NameFault> {
    let name = path::file_name(path);
    if name.eq_ignore_ascii_case(b".git") {
        return Err(NameFault::Git);
    }
    if path.len() > longest {
        return Err(NameFault::PathTooLong);
    }
    if path::below(path, b"projects").is_some() || path::below(path, b"config").is_some() {
        return check_ignition(name);
    }
    Ok(())
}

/// Checks a name by the rules of Ignition's resource names.
fn check_ignition(name: &[u8]) -> Result<(), NameFault> {
    let text = str::from_utf8(name).map_err(|_| NameFault::NotUtf8)?;
    let refused = |char: &char| r#"/\?*:|"<>`"#.contains(*char) || char.is_control();
    if let Some(char) = text.chars().find(refused) {
        return Err(NameFault::Character(char));
    }
    let at_edge = |edge: char| text.starts_with(edge) || text.ends_with(edge);
    if at_edge('.') || at_edge(' ') {
        return Err(NameFault::Edge);
    }
    Ok(())
}

/// Returns who keeps this destination, if it is out of reach for every mapping.
///
/// Where a volume ignores case, so do we: another spelling would be the same file there.
pub(crate) fn keeper(path: &[u8], case: Case) -> Option<Keeper> {
    match case {
        Case::Matters => keeper_of(path, path::within),
        Case::Ignored => keeper_of(fold(path).as_bytes(), |path, identity| {
            path::within(path, fold(identity).as_bytes())
        }),
    }
}

fn keeper_of(path: &[u8], is_within: impl Fn(&[u8], &[u8]) -> bool) -> Option<Keeper> {
    let mut components = path.split(|byte| *byte == b'/');
    let first = components.clone().next().unwrap_or_default();
    if first == STATE_DIR.as_bytes() || first == STAGING_DIR.as_bytes() {
        return Some(Keeper::Stoker);
    }
    if IDENTITY.iter().any(|identity| is_within(path, identity)) {
        return Some(Keeper::Identity);
    }
    components.find_map(|component| {
        if component == RUNTIME_CACHE {
            Some(Keeper::RuntimeCache)
        } else {
            component.starts_with(TEMPORARY_PREFIX).then_some(Keeper::Stoker)
        }
    })
}

/// Returns what all spellings of a name have in common that a volume without case takes for one.
pub(crate) fn fold(name: &[u8]) -> String {
    // Up before down: some letters have two small forms, or a large one that only folding undoes.
    String::from_utf8_lossy(name).to_uppercase().to_lowercase()
}

/// Returns whether a destination is one of ours, so that no mapping may point into it.
pub fn is_reserved(path: &RelPath) -> bool {
    keeper(path, Case::Matters) == Some(Keeper::Stoker)
}

#[cfg(test)]
mod tests;
