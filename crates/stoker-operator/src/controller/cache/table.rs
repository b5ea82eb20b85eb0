//! Objects of one kind by namespace and name.

use std::collections::{BTreeMap, HashSet};

use super::Key;
use super::owned::Owned;
use crate::controller::watch::Change;

/// Objects of one kind.
#[derive(Debug)]
pub(super) struct Table<T>(BTreeMap<Key, T>);

/// What a change did.
#[derive(Debug)]
pub(super) struct Changed<T> {
    /// The objects that changed.
    pub(super) keys: Vec<Key>,
    /// What they were before.
    pub(super) before: Vec<T>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> Table<T> {
    pub(super) fn get(&self, key: &Key) -> Option<&T> {
        self.0.get(key)
    }

    pub(super) fn insert(&mut self, key: Key, value: T) -> Option<T> {
        self.0.insert(key, value)
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<T> {
        self.0.remove(key)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Key, &T)> {
        self.0.iter()
    }

    pub(super) fn in_namespace<'a>(
        &'a self,
        namespace: &'a str,
    ) -> impl Iterator<Item = (&'a Key, &'a T)> {
        self.with_prefix(namespace, "")
    }

    /// Returns the objects of a namespace whose names begin so, in the order of their names.
    pub(super) fn with_prefix<'a, 'b>(
        &'a self,
        namespace: &'b str,
        prefix: &'b str,
    ) -> impl Iterator<Item = (&'a Key, &'a T)> {
        let from = Key::new(namespace, prefix);
        let is_in = move |key: &Key| key.namespace == namespace && key.name.starts_with(prefix);
        self.0.range(from..).take_while(move |(key, _)| is_in(key))
    }

    /// Makes a change. `scope` is the namespace that the watch covers; none is all of them.
    pub(super) fn change(&mut self, scope: Option<&str>, change: Change<T>) -> Changed<T> {
        match change {
            Change::Applied(key, value) => {
                let before = self.0.insert(key.clone(), value);
                Changed { keys: vec![key], before: before.into_iter().collect() }
            }
            Change::Deleted(key) => {
                let before = self.0.remove(&key);
                Changed { keys: vec![key], before: before.into_iter().collect() }
            }
            Change::Listed(existing) => self.keep(scope, &existing),
        }
    }

    /// Drops what a list did not show.
    pub(super) fn keep(&mut self, scope: Option<&str>, existing: &HashSet<Key>) -> Changed<T> {
        let is_gone =
            |key: &Key| scope.is_none_or(|scope| key.namespace == scope) && !existing.contains(key);
        let keys: Vec<Key> = self.0.keys().filter(|key| is_gone(key)).cloned().collect();
        let before = keys.iter().filter_map(|key| self.0.remove(key)).collect();
        Changed { keys, before }
    }
}

impl<T> Table<Owned<T>> {
    /// Returns the version of an object.
    pub(super) fn version(&self, key: &Key) -> Option<&str> {
        self.get(key)?.resource_version.as_deref()
    }

    /// Takes note of an object that was read after this version of it had been reported; none where
    /// it is gone. What the watch has reported since counts more.
    pub(super) fn read(&mut self, key: &Key, reported: &str, found: Option<Owned<T>>) {
        if self.version(key) == Some(reported) {
            self.change(None, Change::of(key.clone(), found));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Key {
        let (namespace, name) = text.split_once('/').unwrap();
        Key::new(namespace, name)
    }

    #[test]
    fn a_list_drops_what_it_does_not_show_in_its_own_namespace_only() {
        let mut table = Table::default();
        for name in ["a/one", "a/two", "b/one"] {
            table.change(None, Change::Applied(key(name), name));
        }
        let changed = table.change(Some("a"), Change::Listed([key("a/two")].into()));
        assert_eq!((changed.keys, changed.before), (vec![key("a/one")], vec!["a/one"]));
        assert_eq!(table.iter().count(), 2);
        assert_eq!(table.in_namespace("a").count(), 1);
        table.change(None, Change::Listed(HashSet::new()));
        assert_eq!(table.iter().count(), 0);
    }
}
