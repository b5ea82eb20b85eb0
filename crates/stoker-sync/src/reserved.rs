//! Names and paths that are refused or protected: names that no tree may hold, names that a gateway
//! can't read, and paths that belong to the gateway or to Stoker.
//!
//! The rules check bytes only. They run before anything is written.

use std::borrow::Cow;

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
/// Identity of one gateway, with all that lies below: never shared, never touched. With a new entry,
/// `RULES` in `request.rs` is raised.
const IDENTITY: [&[u8]; 4] =
    [b"config/local", b".uuid", b"redundancy.xml", b".ignition-seed-complete"];
/// The gateway's store of tag values, in whatever directory it is.
const VALUE_STORE: &[u8] = b"valueStore.idb";
/// Resources of one gateway: only a mapping with a destination in here writes to it.
const LOCAL: &[u8] = b"config/resources/local";
/// The gateway's own cache, in whatever directory it is.
const RUNTIME_CACHE: &[u8] = b".resources";
/// A clone that a person works in, in whatever directory it is.
const REPOSITORY: &[u8] = b".git";

/// Why a name is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum NameFault {
    /// It is empty, `.` or `..`, or has a slash or a NUL in it.
    #[error("is not the name of a file")]
    NotAName,
    #[error("is longer than 255 bytes")]
    TooLong,
    #[error("makes a path longer than the system takes")]
    PathTooLong,
    /// It is `.git` in some spelling.
    #[error("is reserved by git")]
    Git,
    /// It is the name of our state, our staging, or our temporary files.
    #[error("is reserved by Stoker")]
    Reserved,
    #[error("has the character {0:?}, which Ignition does not take")]
    Character(char),
    #[error("ends with a dot, or begins or ends with a blank, which Ignition does not take")]
    Edge,
    #[error("is the identity of one gateway, which Stoker never writes")]
    Identity,
    #[error("is the gateway's own cache, which Stoker never writes")]
    RuntimeCache,
    #[error("is not UTF-8, which Ignition does not take")]
    NotUtf8,
    #[error("is there twice, which git itself never writes")]
    Twice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reserved {
    /// The gateway's identity: keystores, redundancy, the store of values.
    Identity,
    /// The gateway's local resources, which a mapping may name as its destination.
    Local,
    /// The gateway's cache (`.resources`).
    RuntimeCache,
    /// A git repository (`.git`).
    Repository,
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
    if text.ends_with('.') || text.starts_with(' ') || text.ends_with(' ') {
        return Err(NameFault::Edge);
    }
    Ok(())
}

/// Returns who keeps this destination, if it is out of reach for every mapping.
///
/// Where a volume ignores case, so do we: another spelling would be the same file there.
pub(crate) fn reserved_for(path: &[u8], case: Case) -> Option<Reserved> {
    match case {
        Case::Matters => reserved_in(path, Cow::Borrowed),
        Case::Ignored => reserved_in(fold(path).as_bytes(), |name| fold(name).into_bytes().into()),
    }
}

/// `spell` says how a known name is spelled in `path`.
fn reserved_in(
    path: &[u8],
    spell: impl Fn(&'static [u8]) -> Cow<'static, [u8]>,
) -> Option<Reserved> {
    let mut components = path.split(|byte| *byte == b'/');
    let first = components.clone().next().unwrap_or_default();
    if first == STATE_DIR.as_bytes() || first == STAGING_DIR.as_bytes() {
        return Some(Reserved::Stoker);
    }
    let is_within = |place: &'static [u8]| path::within(path, &spell(place));
    if IDENTITY.into_iter().any(is_within) {
        return Some(Reserved::Identity);
    }
    let by_name = components.find_map(|component| match component {
        RUNTIME_CACHE => Some(Reserved::RuntimeCache),
        REPOSITORY => Some(Reserved::Repository),
        name if *name == *spell(VALUE_STORE) => Some(Reserved::Identity),
        name => name.starts_with(TEMPORARY_PREFIX).then_some(Reserved::Stoker),
    });
    by_name.or_else(|| is_within(LOCAL).then_some(Reserved::Local))
}

/// Returns whether this is the directory of the gateway's local resources itself.
pub(crate) fn is_local_root(path: &[u8], case: Case) -> bool {
    reserved_for(path, case) == Some(Reserved::Local)
        && path.split(|byte| *byte == b'/').count() == LOCAL.split(|byte| *byte == b'/').count()
}

/// Returns what all spellings of a name have in common that a volume without case takes for one.
pub(crate) fn fold(name: &[u8]) -> String {
    // Up before down: some letters have two small forms, or a large one that only folding undoes.
    String::from_utf8_lossy(name).to_uppercase().to_lowercase()
}

/// Checks the destination of a mapping: one that no run ever writes is a mistake.
pub fn check_mapped(destination: &RelPath) -> Result<(), NameFault> {
    if destination.components().any(|name| name.eq_ignore_ascii_case(REPOSITORY)) {
        return Err(NameFault::Git);
    }
    match reserved_for(destination, Case::Matters) {
        Some(Reserved::Stoker) => Err(NameFault::Reserved),
        Some(Reserved::Identity) => Err(NameFault::Identity),
        Some(Reserved::RuntimeCache) => Err(NameFault::RuntimeCache),
        Some(Reserved::Repository) => Err(NameFault::Git),
        Some(Reserved::Local) | None => Ok(()),
    }
}

/// Returns whether a destination is one of ours, so that no mapping may point into it.
pub fn is_reserved(path: &RelPath) -> bool {
    reserved_for(path, Case::Matters) == Some(Reserved::Stoker)
}

#[cfg(test)]
mod tests;
