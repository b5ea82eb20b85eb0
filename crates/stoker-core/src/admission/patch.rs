//! The smallest JSON patch that adds the agent: it adds, and replaces nothing that has content.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};
use stoker_api::names::{Annotation, Label, TRUE};

use super::Settings;
use super::hash;
use super::pod::Text;
use super::sidecar::{self, Agent};
use super::volume;
use super::warning::Findings;

/// The cluster autoscaler's list of local volumes that do not keep a pod on its node.
const SAFE_TO_EVICT: &str = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes";

/// A JSON patch (RFC 6902).
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(transparent)]
pub struct Patch(pub Vec<Operation>);

/// One addition. `op` is always `add`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Operation {
    op: &'static str,
    /// Where, as a JSON pointer.
    pub path: String,
    /// What.
    pub value: Value,
}

impl Patch {
    pub(crate) fn add(&mut self, path: String, value: Value) {
        self.0.push(Operation { op: "add", path, value });
    }

    /// Adds entries to a map, which may not exist.
    pub(crate) fn merge(
        &mut self,
        path: &str,
        existing: &BTreeMap<Text<'_>, Text<'_>>,
        new: Vec<Entry>,
    ) {
        if existing.is_empty() {
            let map = new.into_iter().map(|entry| (entry.key, json!(entry.value)));
            self.add(path.to_owned(), Value::Object(map.collect()));
            return;
        }
        for Entry { key, value } in new {
            if existing.get(key.as_str()).map(|it| &**it) != Some(&value) {
                self.add(format!("{path}/{}", escape(&key)), json!(value));
            }
        }
    }

    /// Adds elements to the end of a list, which may not exist.
    pub(crate) fn append(&mut self, path: &str, existing: usize, new: Vec<Value>) {
        if new.is_empty() {
            return;
        }
        if existing == 0 {
            self.add(path.to_owned(), Value::Array(new));
            return;
        }
        for value in new {
            self.add(format!("{path}/-"), value);
        }
    }
}

/// An entry of a map.
pub(crate) struct Entry {
    key: String,
    value: String,
}

impl Entry {
    pub(crate) fn new(key: &str, value: impl Into<String>) -> Self {
        Self { key: key.to_owned(), value: value.into() }
    }
}

/// Builds the patch that adds the agent to a pod.
pub(super) fn build(agent: &Agent<'_>, settings: &Settings, findings: &mut Findings) -> Patch {
    let pod = agent.pod;
    let secrets = volume::secrets(agent.chosen);
    let placed = volume::place(agent, &secrets);
    let container = sidecar::build(agent, &placed, &secrets, findings);
    let mut patch = Patch::default();
    if pod.spec.init_containers.is_empty() {
        patch.add("/spec/initContainers".to_owned(), json!([container]));
    } else {
        patch.add(format!("/spec/initContainers/{}", agent.position()), container);
    }
    let volumes = placed.iter().filter_map(|volume| volume.definition.clone()).collect();
    patch.append("/spec/volumes", pod.spec.volumes.len(), volumes);
    let known = |name: &String| pod.spec.image_pull_secrets.iter().any(|it| *it.name == **name);
    let pull = settings.pull_secrets.iter().filter(|name| !known(name));
    let pull = pull.map(|name| json!({ "name": name })).collect();
    patch.append("/spec/imagePullSecrets", pod.spec.image_pull_secrets.len(), pull);
    let mut annotations = vec![
        Entry::new(Annotation::Injected.as_str(), TRUE),
        Entry::new(Annotation::InjectedHash.as_str(), hash::of(&agent.image, &secrets, agent.data)),
        Entry::new(SAFE_TO_EVICT, safe_to_evict(agent, &placed)),
    ];
    if findings.has_refused_image() {
        annotations.push(Entry::new(Annotation::AgentImageRefused.as_str(), TRUE));
    }
    if agent.chosen.is_derived {
        annotations.push(Entry::new(Annotation::CrName.as_str(), agent.chosen.name));
        annotations.push(Entry::new(Annotation::CrNameDerived.as_str(), TRUE));
    }
    patch.merge("/metadata/annotations", &pod.metadata.annotations, annotations);
    patch.merge(
        "/metadata/labels",
        &pod.metadata.labels,
        vec![Entry::new(Label::Agent.as_str(), TRUE)],
    );
    patch
}

/// Returns the volumes that were listed, and those of the agent.
fn safe_to_evict(agent: &Agent<'_>, placed: &[volume::Placed]) -> String {
    let listed = agent.pod.annotation(SAFE_TO_EVICT).unwrap_or_default();
    let listed = listed.split(',').map(str::trim).filter(|name| !name.is_empty());
    let mut names: Vec<&str> = listed.collect();
    for volume in placed.iter().filter(|volume| volume.is_empty_dir) {
        if !names.contains(&volume.name.as_str()) {
            names.push(&volume.name);
        }
    }
    names.join(",")
}

/// Escapes a key for a JSON pointer.
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
