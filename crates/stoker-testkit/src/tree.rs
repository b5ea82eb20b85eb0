//! Directory trees as values: written down in a test, put on disk, read back, compared.
//!
//! Names are bytes, so that hostile ones can be said. Nothing here follows a symbolic link.
//! Directories that hold something are implied by it; only empty ones are part of the value.

mod disk;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What is at a path.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Node {
    /// A file with its content and permission bits.
    File {
        /// The content.
        bytes: Vec<u8>,
        /// Permission bits, as in `0o644`.
        mode: u32,
    },
    /// A symbolic link with its target, which need not exist.
    Symlink(Vec<u8>),
    /// A directory with nothing in it.
    EmptyDir,
}

/// A tree: relative paths with `/` between their parts, and what is there.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Tree(BTreeMap<Vec<u8>, Node>);

/// Makes a tree of plain files (mode 0644) from paths and contents.
pub fn tree<P, C>(files: impl IntoIterator<Item = (P, C)>) -> Tree
where
    P: AsRef<[u8]>,
    C: AsRef<[u8]>,
{
    files.into_iter().fold(Tree::default(), |tree, (path, content)| tree.file(path, content))
}

impl Tree {
    /// Adds or replaces a plain file.
    #[must_use]
    pub fn file(self, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        self.file_with_mode(path, content, 0o644)
    }

    /// Adds or replaces a file with these permission bits.
    #[must_use]
    pub fn file_with_mode(
        self,
        path: impl AsRef<[u8]>,
        content: impl AsRef<[u8]>,
        mode: u32,
    ) -> Self {
        self.with(path, Node::File { bytes: content.as_ref().to_vec(), mode })
    }

    /// Adds or replaces a symbolic link.
    #[must_use]
    pub fn symlink(self, path: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> Self {
        self.with(path, Node::Symlink(target.as_ref().to_vec()))
    }

    /// Adds a directory that stays empty unless something is put below it.
    #[must_use]
    pub fn dir(self, path: impl AsRef<[u8]>) -> Self {
        self.with(path, Node::EmptyDir)
    }

    /// Removes what is at the path and below it.
    #[must_use]
    pub fn without(mut self, path: impl AsRef<[u8]>) -> Self {
        let path = path.as_ref();
        self.0.retain(|other, _| other != path && !is_below(other, path));
        self
    }

    /// Returns what is at the path, if that is a file, a link or an empty directory.
    pub fn get(&self, path: impl AsRef<[u8]>) -> Option<&Node> {
        self.0.get(path.as_ref())
    }

    /// Returns the content of a file as text.
    #[track_caller]
    pub fn text(&self, path: impl AsRef<[u8]>) -> &str {
        let path = path.as_ref();
        match self.get(path) {
            Some(Node::File { bytes, .. }) => {
                std::str::from_utf8(bytes).expect("the test expects text in this file")
            }
            other => panic!("{} is no file but {other:?}", path.escape_ascii()),
        }
    }

    /// Returns paths and nodes in order of their bytes.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &Node)> {
        self.0.iter().map(|(path, node)| (path.as_slice(), node))
    }

    /// Returns the part below a directory, with paths relative to it.
    #[must_use]
    pub fn below(&self, dir: impl AsRef<[u8]>) -> Self {
        let dir = dir.as_ref();
        let inside = self.0.iter().filter(|(path, _)| is_below(path, dir));
        Self(inside.map(|(path, node)| (path[dir.len() + 1..].to_vec(), node.clone())).collect())
    }

    /// Panics with the difference unless this tree, the actual one, is as expected.
    #[track_caller]
    pub fn assert_is(&self, expected: &Self) {
        let difference = self.difference(expected);
        assert!(difference.is_empty(), "the tree is not as expected:\n{difference}");
    }

    /// One line for each path: `+` unexpected, `-` missing, `~` other than expected.
    fn difference(&self, expected: &Self) -> String {
        let paths: BTreeSet<&[u8]> = self.iter().chain(expected.iter()).map(|(it, _)| it).collect();
        let line = |path: &[u8]| {
            let name = path.escape_ascii();
            match (self.get(path), expected.get(path)) {
                (actual, expected) if actual == expected => String::new(),
                (Some(actual), Some(expected)) => {
                    format!("~ {name} {actual:?}, expected {expected:?}\n")
                }
                (Some(actual), None) => format!("+ {name} {actual:?}\n"),
                (None, expected) => format!("- {name} {:?}\n", expected.expect("one has it")),
            }
        };
        paths.into_iter().map(line).collect()
    }

    fn with(mut self, path: impl AsRef<[u8]>, node: Node) -> Self {
        let path = path.as_ref();
        assert!(is_plain(path), "{} is no plain relative path", path.escape_ascii());
        // A directory that holds something is no longer an empty one.
        for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            match self.0.get(&path[..at]) {
                None => {}
                Some(Node::EmptyDir) => drop(self.0.remove(&path[..at])),
                Some(other) => panic!("{} lies below {other:?}", path.escape_ascii()),
            }
        }
        let is_implied = node == Node::EmptyDir && self.0.keys().any(|it| is_below(it, path));
        assert!(
            is_implied || !self.0.keys().any(|other| is_below(other, path)),
            "{} is a directory with something in it",
            path.escape_ascii()
        );
        if !is_implied {
            self.0.insert(path.to_vec(), node);
        }
        self
    }
}

impl<P: AsRef<[u8]>> FromIterator<(P, Node)> for Tree {
    fn from_iter<T: IntoIterator<Item = (P, Node)>>(nodes: T) -> Self {
        nodes.into_iter().fold(Self::default(), |tree, (path, node)| tree.with(path, node))
    }
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.iter().map(|(path, node)| format!("{} {node:?}", path.escape_ascii()));
        f.debug_list().entries(lines).finish()
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 200;
        match self {
            Self::File { bytes, mode } => {
                let shown = &bytes[..bytes.len().min(SHOWN)];
                write!(f, "{mode:04o} \"{}\"", shown.escape_ascii())?;
                if bytes.len() > SHOWN { write!(f, "… ({} bytes)", bytes.len()) } else { Ok(()) }
            }
            Self::Symlink(target) => write!(f, "-> {}", target.escape_ascii()),
            Self::EmptyDir => f.write_str("(empty directory)"),
        }
    }
}

fn is_below(path: &[u8], dir: &[u8]) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.first() == Some(&b'/'))
}

/// Says whether every part of the path is a name: trees in tests may be hostile, but not by
/// accident.
fn is_plain(path: &[u8]) -> bool {
    !path.contains(&0)
        && path.split(|byte| *byte == b'/').all(|part| !matches!(part, b"" | b"." | b".."))
}

#[cfg(test)]
mod tests;
