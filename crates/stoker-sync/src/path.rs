//! Paths below a root, as bytes: what git and Linux both mean by a path.
//!
//! A [`RelPath`] is clean by construction: no empty, `.` or `..` component, no NUL, not absolute.
//! `reserved.rs` decides whether a gateway accepts a name.

use std::fmt;
use std::ops::Deref;

/// A clean path below some root. The empty path is the root itself.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RelPath(Vec<u8>);

/// Bytes for the eyes of people: quoted as git quotes them where they could do harm.
pub struct Quoted<'a>(pub &'a [u8]);

/// Why some bytes are not a path below a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum PathError {
    #[error("the path is absolute")]
    Absolute,
    #[error("the path has a \"..\" component")]
    ParentComponent,
    #[error("the path contains a NUL byte")]
    Nul,
}

impl RelPath {
    /// The root itself.
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    /// Parses a path; `.` components, doubled and trailing slashes mean nothing.
    pub fn parse(path: impl AsRef<[u8]>) -> Result<Self, PathError> {
        let path = path.as_ref();
        if path.contains(&0) {
            return Err(PathError::Nul);
        }
        if path.starts_with(b"/") {
            return Err(PathError::Absolute);
        }
        let mut clean = Self::root();
        for component in path.split(|byte| *byte == b'/') {
            match component {
                b"" | b"." => {}
                b".." => return Err(PathError::ParentComponent),
                name => clean.push(name),
            }
        }
        Ok(clean)
    }

    /// Returns this path with one more component, which must be a clean name.
    pub(crate) fn join(&self, name: &[u8]) -> Self {
        let mut path = Self(Vec::with_capacity(self.0.len() + 1 + name.len()));
        path.0.extend_from_slice(&self.0);
        path.push(name);
        path
    }

    pub(crate) fn push(&mut self, name: &[u8]) {
        if !self.0.is_empty() && !name.is_empty() {
            self.0.push(b'/');
        }
        self.0.extend_from_slice(name);
    }

    /// Takes bytes that are known to be clean: they come from another path of ours.
    pub(crate) fn from_clean(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns whether this is the root itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the components, from the top.
    pub fn components(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|byte| *byte == b'/').filter(|component| !component.is_empty())
    }

    /// Returns the directory that holds this path; the root's parent is the root.
    #[must_use]
    pub fn parent(&self) -> Self {
        Self(parent(&self.0).to_vec())
    }
}

impl std::borrow::Borrow<[u8]> for RelPath {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for RelPath {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Deref for RelPath {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() { f.write_str(".") } else { Quoted(&self.0).fmt(f) }
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", escape(&self.0))
    }
}

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let escaped = escape(self.0);
        if escaped.as_bytes() == self.0 {
            f.write_str(&escaped)
        } else {
            write!(f, "\"{escaped}\"")
        }
    }
}

impl fmt::Debug for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", escape(self.0))
    }
}

pub(crate) fn parent(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(&[], |slash| &path[..slash])
}

pub(crate) fn file_name(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(path, |slash| &path[slash + 1..])
}

/// Returns what `path` is below `directory`, if it lies strictly below it.
pub(crate) fn below<'a>(path: &'a [u8], directory: &[u8]) -> Option<&'a [u8]> {
    if directory.is_empty() {
        return (!path.is_empty()).then_some(path);
    }
    path.strip_prefix(directory)?.strip_prefix(b"/")
}

/// Returns whether `path` is `directory` or lies below it.
pub(crate) fn within(path: &[u8], directory: &[u8]) -> bool {
    path == directory || below(path, directory).is_some()
}

/// Returns every directory above `path`, the root first.
pub(crate) fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    let root = (!path.is_empty()).then_some(0);
    root.into_iter().chain(slashes).map(|end| &path[..end])
}

fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        chunk.valid().chars().for_each(|char| escape_char(char, &mut text));
        chunk.invalid().iter().for_each(|byte| escape_byte(*byte, &mut text));
    }
    text
}

fn escape_char(char: char, text: &mut String) {
    match char {
        '"' => text.push_str("\\\""),
        '\\' => text.push_str("\\\\"),
        '\n' => text.push_str("\\n"),
        '\t' => text.push_str("\\t"),
        '\r' => text.push_str("\\r"),
        // Directional marks can make a name read as another one.
        '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            char.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| escape_byte(byte, text));
        }
        _ if char.is_control() => {
            char.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| escape_byte(byte, text));
        }
        _ => text.push(char),
    }
}

fn escape_byte(byte: u8, text: &mut String) {
    let octal = |shift: u8| char::from(b'0' + (byte >> shift & 7));
    text.extend(['\\', octal(6), octal(3), octal(0)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_and_slashes_that_mean_nothing_go() {
        for (text, clean) in [("projects/", "projects"), ("./a//b/.", "a/b"), (".", ""), ("", "")] {
            assert_eq!(RelPath::parse(text).unwrap().as_bytes(), clean.as_bytes(), "{text:?}");
        }
    }

    #[test]
    fn what_could_leave_the_root_is_not_a_path() {
        for (text, error) in [
            (&b"/etc"[..], PathError::Absolute),
            (b"a/../b", PathError::ParentComponent),
            (b"..", PathError::ParentComponent),
            (b"a\0", PathError::Nul),
        ] {
            assert_eq!(RelPath::parse(text), Err(error));
        }
    }

    #[test]
    fn names_are_printed_as_git_quotes_them() {
        for (bytes, text) in [
            (&b"views/Gr\xc3\xb6\xc3\x9fe"[..], "views/Gr\u{f6}\u{df}e"),
            (b"a b", "a b"),
            (b"a\nb", "\"a\\nb\""),
            (b"\x1b[31m", "\"\\033[31m\""),
            (b"\xff", "\"\\377\""),
            ("\u{202e}gpj".as_bytes(), "\"\\342\\200\\256gpj\""),
        ] {
            assert_eq!(Quoted(bytes).to_string(), text);
        }
    }

    #[test]
    fn ancestors_begin_at_the_root() {
        let all: Vec<&[u8]> = ancestors(b"a/b/c").collect();
        assert_eq!(all, [&b""[..], b"a", b"a/b"]);
        assert_eq!(ancestors(b"").count(), 0);
    }
}
