//! What the operator of a namespace was started with, as far as its Deployment says.
//!
//! Whoever may not read the Deployment, or the ConfigMap with its defaults, gets the usual values
//! and a note.

use std::path::Path;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Container, PodSpec};
use kube::api::Api;
use stoker_api::chain::Chain;
use stoker_api::names::DEFAULT_AGENT_IMAGE;
use stoker_core::admission::{Image, Settings};
use stoker_core::defaults::Defaults;

use crate::cluster::Cluster;

/// What the operator was started with.
pub(super) struct Operator {
    pub(super) settings: Settings,
    /// The flag `--injection-policy`.
    pub(super) injection_policy: Option<String>,
    /// Cluster-wide defaults, where it has any.
    pub(super) defaults: Option<Given>,
    /// What could not be read, and what is assumed instead.
    pub(super) notes: Vec<String>,
}

/// Cluster-wide defaults, and where they are written.
pub(super) struct Given {
    pub(super) defaults: Defaults,
    /// The ConfigMap, as `namespace/name`.
    pub(super) origin: String,
}

/// A file of a ConfigMap that is mounted into the operator.
#[derive(Debug, PartialEq)]
struct Place {
    config_map: String,
    key: String,
}

/// The flags and variables of one Deployment's first container.
struct Started<'a> {
    pod: Option<&'a PodSpec>,
    container: Option<&'a Container>,
}

/// Reads what the operator of the cluster's namespace was started with.
pub(super) async fn observe(cluster: &Cluster) -> Operator {
    let found = cluster.operators().await.unwrap_or_default();
    let found = serving(&found, &cluster.namespace);
    let started = Started::of(found);
    let own = format!("ghcr.io/stoker-io/stoker-agent:{}", env!("CARGO_PKG_VERSION"));
    let image = started.variable(DEFAULT_AGENT_IMAGE).and_then(|text| text.parse::<Image>().ok());
    let mut operator = Operator {
        settings: Settings {
            default_image: image.unwrap_or_else(|| own.parse().expect("an image of our own")),
            allowed_repositories: list(started.flag("allowed-agent-images")),
            pull_secrets: list(started.flag("agent-pull-secret")),
        },
        injection_policy: started.flag("injection-policy").map(str::to_owned),
        defaults: None,
        notes: Vec::new(),
    };
    let Some(found) = found else {
        let note = "the operator's Deployment was not found: its default image and policy are \
                    assumed, and no cluster-wide defaults";
        operator.notes.push(note.to_owned());
        return operator;
    };
    let Some(file) = started.flag("defaults-file") else { return operator };
    let namespace = found.metadata.namespace.as_deref().unwrap_or_default();
    match read_defaults(cluster, namespace, &started, file).await {
        Ok(given) => operator.defaults = Some(given),
        Err(why) => {
            operator.notes.push(format!("the cluster-wide defaults are not applied: {why}"));
        }
    }
    operator
}

/// Chooses the operator of a namespace: one that names it, else one that serves all.
fn serving<'a>(operators: &'a [Deployment], namespace: &str) -> Option<&'a Deployment> {
    let namespaces = |it: &Deployment| list(Started::of(Some(it)).flag("watch-namespaces"));
    let names_it = |it: &&Deployment| namespaces(it).iter().any(|name| name == namespace);
    let serves_all = |it: &&Deployment| namespaces(it).is_empty();
    operators.iter().find(names_it).or_else(|| operators.iter().find(serves_all))
}

async fn read_defaults(
    cluster: &Cluster,
    namespace: &str,
    started: &Started<'_>,
    file: &str,
) -> Result<Given, String> {
    let place = started.place_of(Path::new(file));
    let Place { config_map, key } = place.ok_or("their file is not that of a ConfigMap")?;
    let origin = format!("{namespace}/{config_map}");
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), namespace);
    let doing = format!("read ConfigMap {origin}");
    let found = cluster.ask(&doing, maps.get(&config_map)).await.map_err(|it| it.message)?;
    let text = found.data.unwrap_or_default().remove(&key);
    let text = text.ok_or_else(|| format!("ConfigMap {origin} has no key {key:?}"))?;
    let value = serde_json::from_str(&text)
        .map_err(|error| format!("key {key:?} of ConfigMap {origin} is not JSON: {error}"))?;
    let defaults = Defaults::parse(&value)
        .map_err(|error| format!("key {key:?} of ConfigMap {origin}: {}", Chain(&error)))?;
    Ok(Given { defaults, origin })
}

fn list(text: Option<&str>) -> Vec<String> {
    let words = text.unwrap_or_default().split(',');
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

impl<'a> Started<'a> {
    fn of(deployment: Option<&'a Deployment>) -> Self {
        let pod = deployment.and_then(|it| it.spec.as_ref()?.template.spec.as_ref());
        Self { pod, container: pod.and_then(|pod| pod.containers.first()) }
    }

    fn variable(&self, name: &str) -> Option<&'a str> {
        let mut variables = self.container?.env.iter().flatten();
        variables.find(|it| it.name == name)?.value.as_deref()
    }

    /// The last one counts, as it does for the operator.
    fn flag(&self, name: &str) -> Option<&'a str> {
        let mut arguments = self.container?.args.iter().flatten().rev();
        arguments.find_map(|it| it.strip_prefix("--")?.strip_prefix(name)?.strip_prefix('='))
    }

    fn place_of(&self, file: &Path) -> Option<Place> {
        let (directory, key) = (file.parent()?, file.file_name()?.to_str()?);
        let mut mounts = self.container?.volume_mounts.iter().flatten();
        let mount = mounts.find(|mount| Path::new(&mount.mount_path) == directory)?;
        let mut volumes = self.pod?.volumes.iter().flatten();
        let volume = volumes.find(|volume| volume.name == mount.name)?;
        let config_map = volume.config_map.as_ref()?.name.clone();
        Some(Place { config_map, key: key.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment(name: &str, arguments: &[&str]) -> Deployment {
        serde_json::from_value(json!({
            "metadata": { "name": name },
            "spec": {
                "selector": {},
                "template": { "spec": {
                    "containers": [{
                        "name": "manager",
                        "args": arguments,
                        "volumeMounts": [
                            { "name": "tmp", "mountPath": "/tmp" },
                            { "name": "defaults", "mountPath": "/etc/stoker/defaults" },
                        ],
                    }],
                    "volumes": [
                        { "name": "tmp", "emptyDir": {} },
                        { "name": "defaults", "configMap": { "name": "stoker-defaults" } },
                    ],
                } },
            },
        }))
        .unwrap()
    }

    #[test]
    fn the_operator_that_names_a_namespace_comes_before_one_that_serves_all() {
        let all = [
            deployment("other", &["--watch-namespaces=south"]),
            deployment("all", &["--leader-elect"]),
            deployment("own", &["--watch-namespaces=east,north"]),
        ];
        let chosen = |namespace: &str, of: &[Deployment]| {
            serving(of, namespace).and_then(|it| it.metadata.name.clone())
        };
        assert_eq!(chosen("north", &all).as_deref(), Some("own"));
        assert_eq!(chosen("west", &all).as_deref(), Some("all"));
        assert_eq!(chosen("west", &all[..1]), None);
    }

    #[test]
    fn a_file_of_defaults_is_found_in_the_config_map_that_is_mounted_there() {
        let deployment = deployment("all", &["--defaults-file=/a", "--defaults-file=/b"]);
        let started = Started::of(Some(&deployment));
        assert_eq!(started.flag("defaults-file"), Some("/b"));
        assert_eq!(started.flag("defaults"), None);
        let place = started.place_of(Path::new("/etc/stoker/defaults/defaults.json"));
        let (config_map, key) = ("stoker-defaults".to_owned(), "defaults.json".to_owned());
        assert_eq!(place, Some(Place { config_map, key }));
        for elsewhere in ["/tmp/defaults.json", "/etc/defaults.json", "/"] {
            assert_eq!(started.place_of(Path::new(elsewhere)), None, "{elsewhere}");
        }
    }
}
