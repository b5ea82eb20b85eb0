//! The decision of the webhook in words.

use std::fmt::Write as _;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use serde::Serialize;
use serde_json::{Map, Value};
use stoker_api::contract::metadata::Profile;
use stoker_api::names::Annotation;
use stoker_api::word::ProfileName;
use stoker_api::{GatewaySync, SyncProfile};
use stoker_core::admission::{self, Decision, Operation, Policy, Settings, World};
use stoker_core::profile::Profiles;

pub(super) struct Question<'a> {
    pub(super) pod: &'a Pod,
    pub(super) namespace: &'a str,
    pub(super) syncs: &'a [GatewaySync],
    pub(super) profiles: &'a [SyncProfile],
    pub(super) settings: &'a Settings,
    pub(super) policy: Policy,
    /// The ConfigMap whose cluster-wide defaults are merged into the GatewaySyncs.
    pub(super) defaults: Option<&'a str>,
}

/// What would happen, and why.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    /// `injected`, `admitted`, `denied` or `ignored`.
    status: &'static str,
    pod: String,
    namespace: String,
    /// Why, one sentence each.
    because: Vec<String>,
    warnings: Vec<String>,
    gateway_sync: Option<String>,
    profile: Option<String>,
    mappings: Vec<Value>,
    /// The other fields of the profile, defaults merged.
    settings: Map<String, Value>,
    /// The ConfigMap with cluster-wide defaults that were applied, as `namespace/name`.
    defaults: Option<String>,
    patch: Vec<Operation>,
}

pub(super) fn answer(question: &Question<'_>) -> Answer {
    let json = serde_json::to_string(question.pod).unwrap_or_default();
    let view: admission::Pod<'_> = serde_json::from_str(&json).unwrap_or_default();
    let annotation = |annotation: Annotation| {
        let annotations = question.pod.annotations();
        annotations.get(annotation.as_str()).map(String::as_str).filter(|text| !text.is_empty())
    };
    let wanted = annotation(Annotation::SyncProfile);
    let object = wanted.and_then(|name| question.profiles.iter().find(|it| it.name_any() == name));
    let world = World {
        syncs: question.syncs.iter().collect(),
        has_sync_profile: object.is_some(),
        is_complete: true,
    };
    let mut answer = Answer {
        status: "ignored",
        pod: question.pod.name_any(),
        namespace: question.namespace.to_owned(),
        because: Vec::new(),
        warnings: Vec::new(),
        gateway_sync: None,
        profile: None,
        mappings: Vec::new(),
        settings: Map::new(),
        defaults: question.defaults.map(str::to_owned),
        patch: Vec::new(),
    };
    match admission::decide(&view, &world, question.settings, question.policy) {
        Decision::Pass(pass) => answer.because.push(passed(pass)),
        Decision::Admit(warnings) => {
            answer.status = "admitted";
            answer.because.push("the agent can't be injected; the pod starts without it".into());
            answer.warnings = warnings;
        }
        Decision::Deny(denial) => {
            answer.status = "denied";
            answer.because.push(denial.message);
            answer.gateway_sync = denial.sync;
        }
        Decision::Inject(injection) => {
            answer.status = "injected";
            answer.because.push(format!("the pod has {}=\"true\"", Annotation::Inject));
            answer.because.push(if injection.is_derived {
                format!("GatewaySync {} is the only one in the namespace", injection.sync)
            } else {
                format!("{} names GatewaySync {}", Annotation::CrName, injection.sync)
            });
            answer.warnings = injection.warnings;
            answer.patch = injection.patch.0;
            answer.gateway_sync = Some(injection.sync);
        }
    }
    let named = answer.gateway_sync.clone();
    let sync = named.and_then(|name| question.syncs.iter().find(|sync| sync.name_any() == name));
    if let Some(sync) = sync {
        answer.explain_profile(sync, object, wanted, annotation(Annotation::Profile));
    }
    answer
}

fn passed(pass: admission::Pass) -> String {
    match pass {
        admission::Pass::NotAsked => {
            format!("the pod does not ask for an agent: set {}=\"true\"", Annotation::Inject)
        }
        admission::Pass::AlreadyInjected => "the pod already has an agent".to_owned(),
        admission::Pass::Mirror => "the pod is the kubelet's copy of a static pod".to_owned(),
        admission::Pass::NotACreation => "the pod is not being created".to_owned(),
        admission::Pass::NotServed => "another operator serves the GatewaySync".to_owned(),
    }
}

impl Answer {
    fn explain_profile(
        &mut self,
        sync: &GatewaySync,
        object: Option<&SyncProfile>,
        wanted: Option<&str>,
        chosen: Option<&str>,
    ) {
        let spec = sync.spec.sync.clone().unwrap_or_default();
        let (name, profile) = match (wanted, object) {
            (Some(name), Some(object)) => {
                self.because.push(format!("{} names SyncProfile {name}", Annotation::SyncProfile));
                let defaults = spec.defaults.unwrap_or_default();
                (name, Profiles::of_object(object, &defaults))
            }
            (Some(_), None) => return,
            (None, _) => {
                let name = chosen.unwrap_or(ProfileName::DEFAULT);
                self.because.push(match chosen {
                    Some(name) => format!("{} names profile {name}", Annotation::Profile),
                    None => format!(
                        "the pod has neither {} nor {}: profile {name}",
                        Annotation::Profile,
                        Annotation::SyncProfile
                    ),
                });
                let profiles = Profiles::of(&spec);
                let Some(found) = profiles.map(|it| it.as_map().get(name).cloned()).transpose()
                else {
                    return;
                };
                (name, found)
            }
        };
        match profile {
            Ok(profile) => self.take(name, &profile),
            Err(invalid) => self.warnings.push(format!("profile {name} is invalid: {invalid}")),
        }
    }

    fn take(&mut self, name: &str, profile: &Profile) {
        self.profile = Some(name.to_owned());
        let Ok(Value::Object(mut fields)) = serde_json::to_value(profile) else { return };
        if let Some(Value::Array(mappings)) = fields.remove("mappings") {
            self.mappings = mappings;
        }
        self.settings = fields;
    }

    /// Returns the same for people.
    pub(super) fn text(&self) -> String {
        let mut text = format!("{}/{}: {}\n", self.namespace, self.pod, self.status);
        for why in &self.because {
            writeln!(text, "  because {why}").ok();
        }
        for warning in &self.warnings {
            writeln!(text, "  warning: {warning}").ok();
        }
        if let Some(profile) = &self.profile {
            writeln!(text, "profile {profile}:").ok();
            for mapping in &self.mappings {
                let field = |name: &str| mapping[name].as_str().unwrap_or_default().to_owned();
                let source = match &*field("source") {
                    "" => ".".to_owned(),
                    source => source.to_owned(),
                };
                let is_template = mapping["template"] == true;
                let template = if is_template { "  (template)" } else { "" };
                writeln!(text, "  {source} -> {}{template}", field("destination")).ok();
            }
            writeln!(text, "settings:").ok();
            for (name, value) in &self.settings {
                writeln!(text, "  {name}: {value}").ok();
            }
            match &self.defaults {
                Some(origin) => writeln!(text, "cluster-wide defaults: ConfigMap {origin}").ok(),
                None => writeln!(text, "cluster-wide defaults: none applied").ok(),
            };
        }
        if !self.patch.is_empty() {
            writeln!(text, "patch:").ok();
            for operation in &self.patch {
                let operation = serde_json::to_value(operation).unwrap_or_default();
                let field = |name: &str| operation[name].as_str().unwrap_or_default().to_owned();
                let value = &operation["value"];
                let named = value["name"].as_str().map(|name| format!("  {name}"));
                let named = named.or_else(|| value.as_str().map(|value| format!("  {value:?}")));
                writeln!(text, "  {} {}{}", field("op"), field("path"), named.unwrap_or_default())
                    .ok();
            }
        }
        text
    }
}
