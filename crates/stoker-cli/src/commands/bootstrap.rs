//! `stoker bootstrap`: what pod bootstrap did in a cluster, and what it would do with one pod.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams};
use serde::Serialize;
use stoker_api::PodBootstrap;
use stoker_api::condition::{ConditionType, Reason};
use stoker_api::names::Annotation;
use stoker_api::podbootstrap::{POLICY_NAME, PodCounts};
use stoker_core::bootstrap::{
    self, CA_CONFIG_MAP, Choices, Manipulation, Origin, Part, Policy, Standing, decide, judge,
    selects,
};

use crate::arguments::{ClusterArguments, api};
use crate::cli::Context;
use crate::cluster::{self, Cluster};
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  stoker bootstrap status
  stoker bootstrap status -n line-1
  stoker bootstrap explain press-0 -n line-1

Rights: get podbootstraps and list mutatingwebhookconfigurations; for status list namespaces and
pods, for explain get the namespace, the pod and configmaps.";

/// What people do about pods that are listed.
const NEXT: &str = "\nnext: restart their workloads, or let the operator do it: \
                    spec.housekeeping of the PodBootstrap";

const WEBHOOK: &str = "pod-bootstrap.stoker.io";
/// Pods that have ended do not count.
const LIVING: &str = "status.phase!=Succeeded,status.phase!=Failed";
const PAGE: u32 = 500;
/// Pods that are listed for people. Scripts get all of them.
const SCREEN: usize = 50;

/// Show what pod bootstrap did, or what it would do with one pod
///
/// status lists the pods of all namespaces, or of one with -n, that were created without the policy
/// or with an older one. explain says for one pod what is done at its creation, and which annotation
/// decides.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// What to show
    #[arg(value_enum)]
    action: Action,
    /// The pod to explain
    #[arg(required_if_eq("action", "explain"))]
    pod: Option<String>,
    #[command(flatten)]
    cluster: ClusterArguments,
}

/// The subcommand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Action {
    /// The policy, and the pods that it missed
    Status,
    /// One pod
    Explain,
}

/// What scripts get of `status`.
#[derive(Debug, Serialize)]
struct StatusDocument {
    /// `current`, `behind` or `inactive`.
    status: &'static str,
    conditions: Vec<ConditionRow>,
    mark: Option<String>,
    namespaces: Option<i32>,
    pods: PodCounts,
    listed: Vec<PodRow>,
}

#[derive(Debug, Serialize)]
struct ConditionRow {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    reason: String,
    message: String,
}

/// A pod that is not current.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct PodRow {
    namespace: String,
    name: String,
    standing: &'static str,
}

/// What scripts get of `explain`.
#[derive(Debug, Serialize)]
struct ExplainDocument {
    /// `current`, `missed`, `stale`, `opted-out` or `not-served`.
    status: &'static str,
    namespace: String,
    name: String,
    manipulations: Vec<ManipulationRow>,
    /// What would be added to the pod if it were created now, as a JSON patch.
    changes: Vec<ChangeRow>,
    original_images: BTreeMap<String, String>,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ManipulationRow {
    name: String,
    is_enabled: bool,
    decided_by: String,
}

#[derive(Debug, Serialize)]
struct ChangeRow {
    path: String,
    value: serde_json::Value,
}

/// The policy, and where it counts.
struct InForce {
    object: PodBootstrap,
    policy: Policy,
    /// The namespaces that the webhook is called for.
    selector: LabelSelector,
}

/// Shows what was asked for.
pub(crate) fn run(arguments: &Arguments, context: &Context) -> Result<ExitCode, Failure> {
    cluster::run(&arguments.cluster, context, async |cluster| {
        let in_force = in_force(&cluster).await?;
        if let (Action::Explain, Some(pod)) = (arguments.action, &arguments.pod) {
            let document = explain(&cluster, &in_force, pod).await?;
            context.console.result(&document, &document.text(), None);
        } else {
            let namespace = arguments.cluster.namespace.as_deref();
            let document = status(&cluster, &in_force, namespace).await?;
            context.console.result(&document, &document.text(), None);
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn not_found(message: String, hint: &str) -> Failure {
    Failure::because(Reason::NotInstalled, message).hint(hint)
}

async fn in_force(cluster: &Cluster) -> Result<InForce, Failure> {
    let policies: Api<PodBootstrap> = Api::all(cluster.client.clone());
    let found = cluster.ask("read PodBootstrap default", policies.get_opt(POLICY_NAME)).await?;
    let Some(object) = found else {
        let message =
            format!("there is no PodBootstrap named {POLICY_NAME:?}: pods stay as they are");
        return Err(not_found(message, "write one, as docs/bootstrap.md shows"));
    };
    let policy = Policy::compile(&object.spec).map_err(|problems| {
        let text: Vec<String> = problems.iter().map(ToString::to_string).collect();
        not_found(
            format!("the PodBootstrap {POLICY_NAME:?} is invalid: {}", text.join("; ")),
            "correct it: kubectl edit podbootstrap default",
        )
    })?;
    let configurations: Api<MutatingWebhookConfiguration> = Api::all(cluster.client.clone());
    let parameters = ListParams::default();
    let listed =
        cluster.ask("list webhook configurations", configurations.list(&parameters)).await?;
    let webhooks = listed.items.into_iter().flat_map(|it| it.webhooks.unwrap_or_default());
    let Some(webhook) = webhooks.into_iter().find(|webhook| webhook.name == WEBHOOK) else {
        let message = format!("no webhook configuration has the webhook {WEBHOOK}");
        return Err(not_found(message, "set the chart value bootstrap.enabled to true"));
    };
    let selector = webhook.namespace_selector.unwrap_or_default();
    Ok(InForce { object, policy, selector })
}

impl InForce {
    fn mark(&self) -> String {
        let status = self.object.status.as_ref();
        let published = status.and_then(|status| status.mark.clone());
        published.unwrap_or_else(|| self.policy.mark(None))
    }
}

async fn status(
    cluster: &Cluster,
    in_force: &InForce,
    namespace: Option<&str>,
) -> Result<StatusDocument, Failure> {
    let all: Api<Namespace> = Api::all(cluster.client.clone());
    let parameters = ListParams::default();
    let namespaces = cluster.ask("list namespaces", all.list_metadata(&parameters)).await?;
    let served = namespaces.items.into_iter().filter(|it| selects(&in_force.selector, it.labels()));
    let served: BTreeMap<String, BTreeMap<String, String>> =
        served.map(|it| (it.name_any(), it.annotations().clone())).collect();
    let mark = in_force.mark();
    let (mut pods, mut listed) = (PodCounts::default(), Vec::new());
    let api: Api<Pod> = api(&cluster.client, namespace);
    let mut parameters = ListParams::default().fields(LIVING).limit(PAGE);
    loop {
        let page = cluster.ask("list pods", api.list_metadata(&parameters)).await?;
        for pod in &page.items {
            let namespace = pod.namespace().unwrap_or_default();
            let Some(annotations) = served.get(&namespace) else { continue };
            let space = bootstrap::Namespace { name: &namespace, annotations, certificates: None };
            let standing = judge(pod.annotations(), pod.labels(), space, &in_force.policy, &mark);
            count(&mut pods, standing);
            if matches!(standing, Standing::Missed | Standing::Stale) {
                let (name, standing) = (pod.name_any(), standing.as_str());
                listed.push(PodRow { namespace, name, standing });
            }
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => break,
        }
    }
    listed.sort();
    let published = in_force.object.status.clone().unwrap_or_default();
    let conditions: Vec<ConditionRow> =
        published.conditions.into_iter().map(ConditionRow::from).collect();
    let is_ready =
        |row: &ConditionRow| row.kind == ConditionType::Ready.as_str() && row.status == "True";
    let status = if !conditions.iter().any(is_ready) {
        "inactive"
    } else if listed.is_empty() {
        "current"
    } else {
        "behind"
    };
    Ok(StatusDocument {
        status,
        conditions,
        mark: published.mark,
        namespaces: published.namespaces,
        pods,
        listed,
    })
}

fn count(pods: &mut PodCounts, standing: Standing) {
    match standing {
        Standing::Current => pods.current += 1,
        Standing::Missed => pods.missed += 1,
        Standing::Stale => pods.stale += 1,
        Standing::OptedOut => pods.opted_out += 1,
    }
}

impl From<Condition> for ConditionRow {
    fn from(condition: Condition) -> Self {
        let Condition { type_: kind, status, reason, message, .. } = condition;
        Self { kind, status, reason, message }
    }
}

impl StatusDocument {
    fn text(&self) -> String {
        let mut text = String::new();
        for ConditionRow { kind, status, reason, message } in &self.conditions {
            writeln!(text, "{kind}: {status} ({reason}) {message}").ok();
        }
        if self.conditions.is_empty() {
            text += "the controller has not looked at the policy yet\n";
        }
        let PodCounts { current, missed, stale, opted_out } = self.pods;
        write!(
            text,
            "pods: {current} current, {missed} missed, {stale} stale, {opted_out} opted out"
        )
        .ok();
        for PodRow { namespace, name, standing } in self.listed.iter().take(SCREEN) {
            write!(text, "\n  {standing}  {namespace}/{name}").ok();
        }
        if let Some(more) = self.listed.len().checked_sub(SCREEN).filter(|more| *more > 0) {
            write!(text, "\n  and {more} more: -o json lists them").ok();
        }
        if !self.listed.is_empty() {
            text += NEXT;
        }
        text
    }
}

async fn explain(
    cluster: &Cluster,
    in_force: &InForce,
    name: &str,
) -> Result<ExplainDocument, Failure> {
    let namespace = &cluster.namespace;
    let spaces: Api<Namespace> = Api::all(cluster.client.clone());
    let doing = format!("read namespace {namespace}");
    let space = cluster.ask(&doing, spaces.get_metadata(namespace)).await?;
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), namespace);
    let found = cluster.ask(&format!("read pod {namespace}/{name}"), pods.get_opt(name)).await?;
    let Some(pod) = found else {
        return Err(Failure::usage(format!("there is no pod {namespace}/{name}")));
    };
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), namespace);
    let doing = format!("read ConfigMap {namespace}/{CA_CONFIG_MAP}");
    let copy = cluster.ask(&doing, maps.get_metadata_opt(CA_CONFIG_MAP)).await?;
    let copy = copy.as_ref().and_then(|it| it.annotations().get(Annotation::ReplicaOf.as_str()));
    let certificates = copy.and_then(|text| Origin::parse(text)).map(|origin| origin.hash);
    let view = bootstrap::Namespace {
        name: namespace,
        annotations: space.annotations(),
        certificates: certificates.as_deref(),
    };
    Ok(describe(&pod, view, in_force, selects(&in_force.selector, space.labels())))
}

/// Describes what is done with a pod that is created now.
fn describe(
    pod: &Pod,
    space: bootstrap::Namespace<'_>,
    in_force: &InForce,
    is_served: bool,
) -> ExplainDocument {
    let (annotations, labels) = (pod.annotations(), pod.labels());
    let policy = &in_force.policy;
    let choices = Choices::find(annotations, labels, space, policy);
    let row = |manipulation: Manipulation| {
        let choice = choices.of(manipulation);
        ManipulationRow {
            name: manipulation.to_string(),
            is_enabled: choice.is_enabled && is_served,
            decided_by: if is_served {
                choice.decided_by.to_string()
            } else {
                "the webhook, which is not called for this namespace".to_owned()
            },
        }
    };
    let text = serde_json::to_string(pod).unwrap_or_default();
    let outcome = serde_json::from_str(&text)
        .map(|view| decide(&view, Part::Whole, space, policy))
        .unwrap_or_default();
    let changes = outcome.patch.0.into_iter().filter(|_| is_served);
    let kept = annotations.get(Annotation::OriginalImages.as_str());
    let standing = judge(annotations, labels, space, policy, &in_force.mark());
    ExplainDocument {
        status: if is_served { standing.as_str() } else { "not-served" },
        namespace: space.name.to_owned(),
        name: pod.name_any(),
        manipulations: Manipulation::ALL.into_iter().map(row).collect(),
        changes: changes.map(|it| ChangeRow { path: it.path, value: it.value }).collect(),
        original_images: kept.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default(),
        warnings: outcome.warnings,
    }
}

impl ExplainDocument {
    fn text(&self) -> String {
        let mut text = format!("{}/{}: {}", self.namespace, self.name, self.status);
        for ManipulationRow { name, is_enabled, decided_by } in &self.manipulations {
            let word = if *is_enabled { "on" } else { "off" };
            write!(text, "\n  {name}: {word}, decided by {decided_by}").ok();
        }
        for (container, image) in &self.original_images {
            write!(text, "\n  image of {container} was {image}").ok();
        }
        if self.changes.is_empty() {
            text += "\nif it were created now, nothing would change";
        } else {
            text += "\nif it were created now, this would be added or replaced:";
        }
        for ChangeRow { path, value } in &self.changes {
            write!(text, "\n  {path}: {value}").ok();
        }
        for warning in &self.warnings {
            write!(text, "\nwarning: {warning}").ok();
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use stoker_api::podbootstrap::PodBootstrapSpec;

    use super::*;

    fn in_force() -> InForce {
        let spec: PodBootstrapSpec = serde_json::from_value(json!({
            "registries": [{ "from": "docker.io", "to": "r.example/hub" }],
            "pullSecret": { "name": "pull", "sourceNamespace": "stoker-system" },
        }))
        .unwrap();
        let policy = Policy::compile(&spec).unwrap();
        let object = PodBootstrap::new(POLICY_NAME, spec);
        InForce { object, policy, selector: LabelSelector::default() }
    }

    fn pod(annotations: &serde_json::Value) -> Pod {
        serde_json::from_value(json!({
            "metadata": { "name": "press-0", "annotations": annotations },
            "spec": { "containers": [{ "name": "app", "image": "nginx" }] },
        }))
        .unwrap()
    }

    fn explained(annotations: &serde_json::Value, is_served: bool) -> String {
        let none = BTreeMap::new();
        let space = bootstrap::Namespace { name: "line-1", annotations: &none, certificates: None };
        describe(&pod(annotations), space, &in_force(), is_served).text()
    }

    #[test]
    fn a_pod_is_explained_with_what_decides() {
        let text = explained(&json!({ "stoker.io/bootstrap-registry": "disabled" }), true);
        assert!(text.starts_with("line-1/press-0: missed\n"), "{text}");
        let expected =
            "registry: off, decided by annotation stoker.io/bootstrap-registry of the pod\n";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("pull secret: on, decided by the policy\n"), "{text}");
        let text = explained(&json!({}), true);
        assert!(
            text.contains("/spec/containers/0/image: \"r.example/hub/library/nginx\""),
            "{text}"
        );
        assert!(text.contains("/spec/imagePullSecrets: [{\"name\":\"pull\"}]"), "{text}");
        let text = explained(&json!({}), false);
        assert!(text.starts_with("line-1/press-0: not-served\n"), "{text}");
        assert!(text.ends_with("if it were created now, nothing would change"), "{text}");
    }

    #[test]
    fn the_status_lists_pods_and_counts_the_rest() {
        let row = |number: usize| PodRow {
            namespace: "line-1".to_owned(),
            name: format!("pod-{number}"),
            standing: "missed",
        };
        let document = StatusDocument {
            status: "behind",
            conditions: Vec::new(),
            mark: None,
            namespaces: None,
            pods: PodCounts { current: 1, missed: 60, stale: 0, opted_out: 2 },
            listed: (0..60).map(row).collect(),
        };
        let text = document.text();
        assert!(text.contains("pods: 1 current, 60 missed, 0 stale, 2 opted out\n"), "{text}");
        assert!(text.contains("\n  missed  line-1/pod-49\n  and 10 more"), "{text}");
    }
}
