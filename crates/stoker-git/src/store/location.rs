//! Where a store is, how many bytes it may take, and the default directory.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use stoker_api::word::RepoUrl;

/// Where a store is, and how many bytes it may take.
///
/// A plain path becomes a location without a limit whose parent directory is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub(super) directory: PathBuf,
    pub(super) parent: Parent,
    pub(super) limit: Option<u64>,
}

/// The directory around a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parent {
    /// Any directory. Opening fails if another user could replace the store in it.
    Checked,
    /// A volume that only our own containers mount. The kubelet makes an `emptyDir` writable for
    /// all users, so its mode is not checked.
    Volume,
}

impl Location {
    /// Returns a directory that the user named or that is below the user's cache.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), parent: Parent::Checked, limit: None }
    }

    /// Returns a private directory in a volume that only our own containers mount.
    pub fn in_volume(volume: &Path, name: &str) -> Self {
        Self { directory: volume.join(name), parent: Parent::Volume, limit: None }
    }

    /// Limits the bytes of the store's packs; in a volume, those of all stores together.
    #[must_use]
    pub fn limited_to(self, bytes: u64) -> Self {
        Self { limit: Some(bytes), ..self }
    }

    /// Returns the directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

impl<P: AsRef<Path> + ?Sized> From<&P> for Location {
    fn from(directory: &P) -> Self {
        Self::at(directory.as_ref())
    }
}

impl From<&Location> for Location {
    fn from(location: &Location) -> Self {
        location.clone()
    }
}

/// Returns the default directory of a repository's store: one per URL, below the user's cache.
///
/// Works without HOME and for a uid without an entry in passwd: then it is below the temporary
/// directory, and [`super::Store::open`] refuses it if another user could have created it.
pub fn default_directory(
    environment: &dyn Fn(&str) -> Option<OsString>,
    uid: u32,
    url: &RepoUrl,
) -> PathBuf {
    let absolute =
        |name: &str| environment(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let temporary = || {
        let parent = absolute("TMPDIR").unwrap_or_else(|| "/tmp".into());
        parent.join(format!("stoker-{uid}"))
    };
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    let base = cache.map_or_else(temporary, |cache| cache.join("stoker"));
    base.join(name_of(url))
}

/// Returns a name for a repository's store: the last part of the URL for people to read, and a hash
/// of the URL so that no two repositories share a store.
pub fn name_of(url: &RepoUrl) -> String {
    let last = url.as_str().trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
    let last = last.strip_suffix(".git").unwrap_or(last);
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let name: String = last.chars().filter(plain).take(40).collect();
    let hash: [u8; 32] = Sha256::digest(url.as_str()).into();
    let digits = hash.first_chunk().map_or(0, |first| u64::from_be_bytes(*first));
    let digits = format!("{digits:016x}");
    if name.is_empty() { digits } else { format!("{name}-{digits}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(variables: &[(&str, &str)], url: &str) -> String {
        let environment = |name: &str| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| OsString::from(value))
        };
        let url = RepoUrl::parse(url).unwrap();
        default_directory(&environment, 1234, &url).display().to_string()
    }

    #[test]
    fn the_cache_is_found_with_and_without_a_home() {
        let url = "https://git.example/plant/site.git";
        let name = "site-";
        let cases: [(&[_], _); 4] = [
            (&[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")], "/c/stoker/"),
            (&[("XDG_CACHE_HOME", "relative"), ("HOME", "/h")], "/h/.cache/stoker/"),
            (&[("TMPDIR", "/t")], "/t/stoker-1234/"),
            (&[], "/tmp/stoker-1234/"),
        ];
        for (variables, base) in cases {
            let found = directory(variables, url);
            assert!(found.starts_with(&format!("{base}{name}")), "{found}");
        }
    }

    #[test]
    fn two_urls_never_share_a_store() {
        let a = directory(&[], "https://git.example/a/site.git");
        assert_ne!(a, directory(&[], "https://git.example/b/site.git"));
        assert_ne!(a, directory(&[], "ssh://git@git.example/a/site.git"));
    }
}
