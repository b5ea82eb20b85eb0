//! The step from one commit to the next, as a value.

use super::Tree;

/// What a commit does to the tree of its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub(super) base: Base,
    pub(super) removed: Vec<Vec<u8>>,
    pub(super) added: Tree,
}

/// What an edit starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    Nothing,
    Parent,
}

impl Edit {
    /// Adds or replaces the entries of `tree`; everything else stays.
    pub fn put(tree: Tree) -> Self {
        Self { base: Base::Parent, removed: Vec::new(), added: tree }
    }

    /// Removes a file or a whole directory as well, before anything is added.
    #[must_use]
    pub fn and_remove(mut self, path: impl AsRef<[u8]>) -> Self {
        self.removed.push(path.as_ref().to_vec());
        self
    }
}

/// A tree alone is the whole content of the commit.
impl From<Tree> for Edit {
    fn from(tree: Tree) -> Self {
        Self { base: Base::Nothing, ..Self::put(tree) }
    }
}
