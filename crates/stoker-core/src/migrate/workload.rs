//! Pods and the workloads that make them: annotations are renamed, and git-sync goes.

use serde_json::{Map, Value, json};
use stoker_api::names::{Annotation, GROUP};

use super::{Migration, Remark, described};

/// The prefixes that annotations had.
const OLD_PREFIXES: [&str; 2] = ["ignition-sync.io/", "sync.ignition.io/"];

/// Annotations that only the layout by convention had; it is written out as mappings.
const OF_LAYOUT: [&str; 3] = ["service-path", "deployment-mode", "tag-provider"];

/// A pod, or a workload with the template of one.
#[derive(Debug, Clone, Copy)]
pub struct Workload<'a> {
    object: &'a Value,
    /// Where the pod is in it, as a JSON pointer.
    at: &'static str,
}

/// The layout by convention that a workload asks for.
pub(super) struct Layout<'a> {
    pub(super) service_path: &'a str,
    pub(super) deployment_mode: Option<&'a str>,
    pub(super) tag_provider: Option<&'a str>,
    pub(super) profile: String,
}

impl<'a> Workload<'a> {
    /// Takes a document that has a pod.
    pub(super) fn of(object: &'a Value) -> Option<Self> {
        let at = match object["kind"].as_str()? {
            "Pod" => "",
            "StatefulSet" | "Deployment" | "DaemonSet" => "/spec/template",
            _ => return None,
        };
        Some(Self { object, at })
    }

    fn pod(&self) -> &'a Value {
        self.object.pointer(self.at).unwrap_or(&Value::Null)
    }

    fn annotations(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let annotations = self.pod()["metadata"]["annotations"].as_object();
        let annotations = annotations.into_iter().flatten();
        annotations.filter_map(|(name, value)| Some((&**name, value.as_str()?)))
    }

    /// Returns an annotation of an older prefix.
    fn old(&self, name: &str) -> Option<&'a str> {
        let mut found = self.annotations().filter_map(|(key, value)| {
            let prefix = OLD_PREFIXES.iter().find(|prefix| key.starts_with(**prefix))?;
            (&key[prefix.len()..] == name).then_some(value)
        });
        found.next()
    }

    /// Returns the layout by convention that it asks for.
    pub(super) fn layout(&self) -> Option<Layout<'a>> {
        let service_path = self.old("service-path")?.trim_matches('/');
        let base = service_path.rsplit('/').next().unwrap_or(service_path);
        Some(Layout {
            service_path,
            deployment_mode: self.old("deployment-mode"),
            tag_provider: self.old("tag-provider"),
            profile: base.to_lowercase(),
        })
    }

    /// Returns the containers of git-sync: the list that each is in, its place there, and itself.
    pub(super) fn git_sync(&self) -> Vec<(&'static str, usize, &'a Value)> {
        let lists = ["initContainers", "containers"].into_iter();
        let all = lists.flat_map(|list| {
            let containers = self.pod()["spec"][list].as_array().into_iter().flatten();
            containers.enumerate().map(move |(place, container)| (list, place, container))
        });
        all.filter(|(_, _, container)| {
            let image = container["image"].as_str().unwrap_or_default();
            image.contains("/git-sync:")
                || image.contains("/git-sync@")
                || image.ends_with("/git-sync")
        })
        .collect()
    }

    /// Returns the Secret that a container mounts at, or above, a path, and the key of the file.
    pub(super) fn secret_at(&self, container: &Value, file: &str) -> Option<(String, String)> {
        let mounts = container["volumeMounts"].as_array()?;
        let mount = mounts.iter().find(|mount| {
            let place = mount["mountPath"].as_str().unwrap_or_default().trim_end_matches('/');
            file.strip_prefix(place).is_some_and(|rest| rest.starts_with('/') || rest.is_empty())
        })?;
        let volumes = self.pod()["spec"]["volumes"].as_array()?;
        let volume = volumes.iter().find(|volume| volume["name"] == mount["name"])?;
        let secret = volume["secret"]["secretName"].as_str()?;
        let key = mount["subPath"].as_str().or(file.rsplit('/').next())?;
        // The file may have another name than the key.
        let items = volume["secret"]["items"].as_array().into_iter().flatten();
        let renamed = items.into_iter().find(|item| item["path"] == key);
        let key = renamed.and_then(|item| item["key"].as_str()).unwrap_or(key);
        Some((secret.to_owned(), key.to_owned()))
    }

    /// Writes the command that changes it.
    pub(super) fn migrate(&self, sync: Option<&str>, migration: &mut Migration) {
        let git_sync = self.git_sync();
        let olds: Vec<(&str, &str)> = self
            .annotations()
            .filter(|(name, _)| OLD_PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
            .collect();
        if git_sync.is_empty() && olds.is_empty() {
            return;
        }
        let mut annotations = Map::new();
        annotations.insert(Annotation::Inject.to_string(), json!("true"));
        if let Some(sync) = sync {
            annotations.insert(Annotation::CrName.to_string(), json!(sync));
        }
        for (name, value) in &olds {
            let short = name.split_once('/').map_or(*name, |(_, short)| short);
            annotations.insert((*name).to_owned(), Value::Null);
            if OF_LAYOUT.contains(&short) {
                continue;
            }
            let new = format!("{GROUP}/{short}");
            if short != "cr-name" && Annotation::find(&new).is_some() {
                annotations.insert(new, json!(value));
            } else if short != "cr-name" {
                migration.dropped.push(Remark {
                    object: described(self.object),
                    field: format!("annotation {name}"),
                    reason: "not supported by this version".to_owned(),
                });
            }
        }
        if let Some(layout) = self.layout() {
            annotations.insert(Annotation::Profile.to_string(), json!(layout.profile));
        }
        let mut patch = json!({"metadata": {"annotations": annotations}});
        for list in ["initContainers", "containers"] {
            let removed: Vec<Value> = git_sync
                .iter()
                .filter(|(of, _, _)| *of == list)
                .map(|(_, _, container)| json!({"name": container["name"], "$patch": "delete"}))
                .collect();
            if !removed.is_empty() {
                patch["spec"][list] = Value::Array(removed);
            }
        }
        if !self.at.is_empty() {
            patch = json!({"spec": {"template": patch}});
        }
        let kind = self.object["kind"].as_str().unwrap_or_default().to_lowercase();
        let name = self.object["metadata"]["name"].as_str().unwrap_or_default();
        let namespace = self.object["metadata"]["namespace"].as_str();
        let place = namespace.map_or_else(String::new, |namespace| format!(" -n {namespace}"));
        let text = patch.to_string().replace('\'', r"'\''");
        migration
            .commands
            .push(format!("kubectl patch {kind} {name}{place} --type=strategic -p '{text}'"));
    }
}
