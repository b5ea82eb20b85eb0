//! Reads one half of the data directory as a scan does, and remembers what it saw.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::resource::{hex, listed};
use crate::world::Half;

/// A resource that a scan saw in a state that no writer may show.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Poison {
    /// The file, relative to the data directory.
    pub path: String,
    /// What was wrong with it.
    pub why: String,
}

/// What one scan of one half saw. Names that begin with a dot are not looked at.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    /// Relative path to SHA-256 of the content.
    pub(crate) files: BTreeMap<String, String>,
    /// The names of the projects with a valid `project.json`.
    pub(crate) projects: BTreeSet<String>,
    /// Directory of each resource to its `resource.json`.
    pub(crate) resources: BTreeMap<String, Value>,
    pub(crate) poison: Vec<Poison>,
}

impl Snapshot {
    /// Reads `half` of `data`; what can't be read is poison, never a panic.
    pub(crate) fn read(data: &Path, half: Half) -> Self {
        let mut snapshot = Self::default();
        snapshot.directory(data, half.name());
        snapshot
    }

    /// Returns one hash over every path and content.
    pub(crate) fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for (path, content) in &self.files {
            hash.update(format!("{path}\0{content}\n"));
        }
        hex(&hash.finalize())
    }

    fn directory(&mut self, data: &Path, relative: &str) {
        let entries = match entries(&data.join(relative)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.poison(relative, error.to_string()),
        };
        let is_resource = entries.iter().any(|(name, _)| name == "resource.json");
        for (name, is_directory) in entries {
            let path = format!("{relative}/{name}");
            if is_directory {
                self.directory(data, &path);
            } else {
                self.file(&data.join(&path), &path, is_resource);
            }
        }
        self.listed_files_are_there(relative);
    }

    fn file(&mut self, at: &Path, path: &str, in_resource: bool) {
        let bytes = match std::fs::read(at) {
            Ok(bytes) => bytes,
            // Deleted since the directory was listed: nothing was seen of it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.poison(path, error.to_string()),
        };
        self.files.insert(path.to_owned(), hex(&Sha256::digest(&bytes)));
        let matters = in_resource || path.ends_with("/project.json");
        if matters && bytes.is_empty() {
            return self.poison(path, "empty file".to_owned());
        }
        if Path::new(path).extension().is_none_or(|extension| extension != "json") {
            return;
        }
        match serde_json::from_slice::<Value>(&bytes) {
            Ok(value) => self.document(path, value),
            Err(error) if matters => self.poison(path, format!("not valid JSON: {error}")),
            Err(_) => {}
        }
    }

    fn document(&mut self, path: &str, value: Value) {
        let parts: Vec<&str> = path.split('/').collect();
        match parts.as_slice() {
            ["projects", name, "project.json"] if value.is_object() => {
                self.projects.insert((*name).to_owned());
            }
            [directories @ .., "resource.json"] => {
                self.resources.insert(directories.join("/"), value);
            }
            _ => {}
        }
    }

    fn listed_files_are_there(&mut self, directory: &str) {
        let Some(resource) = self.resources.get(directory) else { return };
        let missing: Vec<String> = listed(resource)
            .into_iter()
            .map(|name| format!("{directory}/{name}"))
            .filter(|path| !self.files.contains_key(path))
            .collect();
        for path in missing {
            self.poison(&path, "listed in resource.json and not there".to_owned());
        }
    }

    fn poison(&mut self, path: &str, why: String) {
        self.poison.push(Poison { path: path.to_owned(), why });
    }
}

/// Returns the entries of a directory in order; neither links nor names with a leading dot.
fn entries(directory: &Path) -> io::Result<Vec<(String, bool)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let name = PathBuf::from(entry.file_name()).to_string_lossy().into_owned();
        if !name.starts_with('.') && !kind.is_symlink() {
            found.push((name, kind.is_dir()));
        }
    }
    found.sort();
    Ok(found)
}
