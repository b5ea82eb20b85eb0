//! What bootstrap reads of a pod: a view that borrows from the request.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::admission::{Named, PodMetadata, Text, nullable};

/// A pod. One without metadata or spec, which no API server sends, can't be read: a patch adds to
/// both.
#[derive(Debug, Default, Deserialize)]
pub struct Pod<'a> {
    #[serde(borrow)]
    pub(super) metadata: PodMetadata<'a>,
    #[serde(borrow)]
    pub(super) spec: Spec<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spec<'a> {
    #[serde(borrow, default, deserialize_with = "nullable")]
    init_containers: Vec<Container<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    containers: Vec<Container<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    pub(super) ephemeral_containers: Vec<Container<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    pub(super) volumes: Vec<Volume<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    pub(super) image_pull_secrets: Vec<Named<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    os: Named<'a>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    node_selector: BTreeMap<Text<'a>, Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Container<'a> {
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow, default)]
    pub(super) image: Text<'a>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    pub(super) env: Vec<Named<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    pub(super) volume_mounts: Vec<Mount<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Mount<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default, rename = "mountPath")]
    path: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Volume<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    projected: Projected<'a>,
}

#[derive(Debug, Default, Deserialize)]
struct Projected<'a> {
    #[serde(borrow, default, deserialize_with = "nullable")]
    sources: Vec<Source<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Source<'a> {
    #[serde(borrow, default, deserialize_with = "nullable")]
    config_map: Named<'a>,
}

impl Pod<'_> {
    /// Returns its name, or how its name will begin, for logs.
    pub fn display_name(&self) -> &str {
        self.metadata.display_name()
    }

    /// Returns the names of its ephemeral containers.
    pub fn ephemeral_names(&self) -> Vec<&str> {
        self.spec.ephemeral_containers.iter().map(|container| &*container.name).collect()
    }

    /// Returns its annotations.
    pub fn annotations(&self) -> BTreeMap<String, String> {
        owned(&self.metadata.annotations)
    }

    /// Returns its labels.
    pub fn labels(&self) -> BTreeMap<String, String> {
        owned(&self.metadata.labels)
    }

    /// Returns the lists of containers that a pod can be created with, by their field.
    pub(super) fn lists(&self) -> [(&'static str, &[Container<'_>]); 2] {
        [("initContainers", &self.spec.init_containers), ("containers", &self.spec.containers)]
    }

    pub(super) fn is_for_windows(&self) -> bool {
        let selected = self.spec.node_selector.get("kubernetes.io/os").map(|value| &**value);
        &*self.spec.os.name == "windows" || selected == Some("windows")
    }

    /// Returns the volume that projects this ConfigMap and nothing else.
    pub(super) fn volume_of(&self, config_map: &str) -> Option<&str> {
        let projects = |volume: &&Volume<'_>| {
            let [only] = volume.projected.sources.as_slice() else { return false };
            &*only.config_map.name == config_map
        };
        self.spec.volumes.iter().find(projects).map(|volume| &*volume.name)
    }

    /// Returns a name that no volume has.
    pub(super) fn free_volume(&self, wanted: &str) -> String {
        let is_taken = |name: &str| self.spec.volumes.iter().any(|volume| &*volume.name == name);
        let numbered = (2_usize..).map(|number| format!("{wanted}-{number}"));
        let mut names = std::iter::once(wanted.to_owned()).chain(numbered);
        names.find(|name| !is_taken(name)).unwrap_or_else(|| wanted.to_owned())
    }
}

impl Container<'_> {
    pub(super) fn mounts(&self, volume: &str) -> bool {
        self.volume_mounts.iter().any(|mount| &*mount.name == volume)
    }

    /// Returns a mount at, above or below this path.
    pub(super) fn mount_that_overlaps(&self, path: &str) -> Option<&str> {
        let is_below = |inner: &str, outer: &str| {
            let outer = outer.trim_end_matches('/');
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let paths = self.volume_mounts.iter().map(|mount| mount.path.trim_end_matches('/'));
        let mut paths = paths.filter(|other| !other.is_empty());
        paths.find(|other| is_below(path, other) || is_below(other, path))
    }
}

fn owned(map: &BTreeMap<Text<'_>, Text<'_>>) -> BTreeMap<String, String> {
    map.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
}
