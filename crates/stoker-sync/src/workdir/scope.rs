//! Which files of a working directory count: the mapped parts, without git's files and editors'
//! temporary files.

use crate::path::{self, RelPath};

/// The parts of a working directory that count; all of it where none are named.
#[derive(Debug, Clone, Default)]
pub struct Scope(Vec<RelPath>);

impl Scope {
    /// Returns the scope of these parts.
    pub fn of(parts: Vec<RelPath>) -> Self {
        Self(parts)
    }

    /// Returns whether a path lies in a part that counts, or a part lies below it.
    pub fn holds(&self, path: &RelPath) -> bool {
        let overlaps = |part: &RelPath| path::within(path, part) || path::within(part, path);
        let is_mapped = self.0.is_empty() || self.0.iter().any(overlaps);
        is_mapped && !path.components().any(|name| name == b".git")
    }

    /// Returns the same for what is known to be no directory.
    pub fn holds_file(&self, path: &RelPath) -> bool {
        self.holds(path) && !is_of_an_editor(path::file_name(path))
    }
}

/// Returns whether an editor or a file manager names its own files so: swap and lock files, copies,
/// and Vim's test whether it may write (`4913`).
fn is_of_an_editor(name: &[u8]) -> bool {
    match name {
        b"4913" | b".DS_Store" | [b'.', b'#', ..] | [.., b'~'] | [b'#', .., b'#'] => true,
        [b'.', rest @ .., b'.', b's', b'w', _] => !rest.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(parts: &[&str], path: &str) -> bool {
        let parts = parts.iter().map(|part| RelPath::parse(part).unwrap()).collect();
        Scope::of(parts).holds_file(&RelPath::parse(path).unwrap())
    }

    #[test]
    fn only_what_is_mapped_and_the_way_to_it_count() {
        for path in ["", "services", "services/site", "services/site/a/b"] {
            assert!(holds(&["services/site"], path), "{path:?}");
        }
        for path in ["data", "services/other", "services/site2", ".git/index"] {
            assert!(!holds(&["services/site"], path), "{path:?}");
        }
        assert!(holds(&[], "anything") && holds(&["."], "anything"));
        assert!(!holds(&["."], ".git/HEAD") && !holds(&["."], "sub/.git"));
    }

    #[test]
    fn what_editors_put_down_does_not_count() {
        let names =
            [".view.json.swp", ".a.swo", ".a.swx", "a~", "~", ".#a", "#a#", "4913", ".DS_Store"];
        for name in names {
            assert!(!holds(&["."], &format!("projects/{name}")), "{name}");
        }
        for name in ["a.swp", ".swp", ".a.sw", "#a", "a#", "49130", "~a", ".gitkeep", "DS_Store"] {
            assert!(holds(&["."], name), "{name}");
        }
    }
}
