//! How two trees differ, in lines that a person reads when a test fails.

use std::collections::BTreeSet;
use std::fmt;

use super::{Node, Tree};

/// The paths at which two trees differ.
#[derive(Debug)]
pub struct Difference<'a>(Vec<(&'a [u8], Option<&'a Node>, Option<&'a Node>)>);

impl Tree {
    /// Compares this tree, the actual one, with the expected one.
    pub fn difference<'a>(&'a self, expected: &'a Self) -> Difference<'a> {
        let paths: BTreeSet<&[u8]> = self.iter().chain(expected.iter()).map(|(it, _)| it).collect();
        let pairs = paths.into_iter().map(|path| (path, self.get(path), expected.get(path)));
        Difference(pairs.filter(|(_, actual, expected)| actual != expected).collect())
    }

    /// Panics with the difference unless this tree, the actual one, is as expected.
    #[track_caller]
    pub fn assert_is(&self, expected: &Self) {
        let difference = self.difference(expected);
        assert!(difference.is_empty(), "the tree is not as expected:\n{difference}");
    }
}

impl Difference<'_> {
    /// Says whether the trees are equal.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// One line for each path: `+` unexpected, `-` missing, `~` other than expected.
impl fmt::Display for Difference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (path, actual, expected) in &self.0 {
            let path = path.escape_ascii();
            match (actual, expected) {
                (Some(actual), None) => writeln!(f, "+ {path} {actual:?}")?,
                (None, Some(expected)) => writeln!(f, "- {path} {expected:?}")?,
                (Some(actual), Some(expected)) => {
                    writeln!(f, "~ {path} {actual:?}, expected {expected:?}")?;
                }
                (None, None) => {}
            }
        }
        Ok(())
    }
}
