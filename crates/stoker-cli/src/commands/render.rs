//! `stoker render`: what would be injected into a pod, and why.

mod explain;
mod operator;

use std::collections::BTreeMap;
use std::process::ExitCode;

use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::core::v1::{Namespace, Pod, PodTemplateSpec};
use kube::api::{Api, ListParams};
use kube::core::NamespaceResourceScope;
use kube::{Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use stoker_api::SyncProfile;
use stoker_api::condition::Reason;
use stoker_api::names::Label;
use stoker_core::admission::Policy;

use crate::arguments::ClusterArguments;
use crate::cli::Context;
use crate::cluster::{self, Cluster};
use crate::failure::Failure;
use explain::{Question, answer};

const EXAMPLES: &str = "\
Examples:
  stoker render statefulset/press -n line-1
  stoker render press-0 -n line-1 -o yaml

Rights: get the pod or its workload, list gatewaysyncs and syncprofiles; to know the operator's
image and policy also get namespaces and list deployments; for cluster-wide defaults also get
the operator's ConfigMap.";

/// Show what would be injected into a pod, which profile and mappings apply, and why
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// A pod, or the workload of one: POD, statefulset/NAME or deployment/NAME
    target: String,
    #[command(flatten)]
    cluster: ClusterArguments,
}

/// Where a pod comes from.
enum Target<'a> {
    Pod(&'a str),
    StatefulSet(&'a str),
    Deployment(&'a str),
}

pub(crate) fn run(arguments: &Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let target = parse(&arguments.target)?;
    cluster::run(&arguments.cluster, context, async |cluster| {
        let pod = read(&cluster, target).await?;
        let mut syncs =
            cluster.ask("list GatewaySyncs", cluster.syncs().list(&ListParams::default())).await?;
        let profiles: Api<SyncProfile> = api(&cluster);
        let profiles =
            cluster.ask("list SyncProfiles", profiles.list(&ListParams::default())).await?;
        let operator = operator::observe(&cluster).await;
        for note in &operator.notes {
            context.console.note(&format!("warning: {note}"));
        }
        if let Some(given) = &operator.defaults {
            for sync in &mut syncs.items {
                given.defaults.apply(&mut sync.spec);
            }
        }
        let policy = policy(&cluster, operator.injection_policy).await;
        let question = Question {
            pod: &pod,
            namespace: &cluster.namespace,
            syncs: &syncs.items,
            profiles: &profiles.items,
            settings: &operator.settings,
            policy,
            defaults: operator.defaults.as_ref().map(|given| &*given.origin),
        };
        let answer = answer(&question);
        context.console.result(&answer, &answer.text(), None);
        Ok(ExitCode::SUCCESS)
    })
}

fn parse(text: &str) -> Result<Target<'_>, Failure> {
    match text.split_once('/') {
        None => Ok(Target::Pod(text)),
        Some(("pod" | "pods" | "po", name)) => Ok(Target::Pod(name)),
        Some(("statefulset" | "statefulsets" | "sts", name)) => Ok(Target::StatefulSet(name)),
        Some(("deployment" | "deployments" | "deploy", name)) => Ok(Target::Deployment(name)),
        Some((kind, _)) => Err(Failure::usage(format!(
            "{kind:?} is not a kind that has gateways: use POD, statefulset/NAME or deployment/NAME"
        ))),
    }
}

fn api<K>(cluster: &Cluster) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    Api::namespaced(cluster.client.clone(), &cluster.namespace)
}

/// Reads the pod as it would be created: from its template, where it has one.
async fn read(cluster: &Cluster, target: Target<'_>) -> Result<Pod, Failure> {
    match target {
        Target::StatefulSet(name) => {
            let found: StatefulSet = get(cluster, name).await?;
            Ok(from_template(name, found.spec.map(|spec| spec.template)))
        }
        Target::Deployment(name) => {
            let found: Deployment = get(cluster, name).await?;
            Ok(from_template(name, found.spec.map(|spec| spec.template)))
        }
        Target::Pod(name) => {
            let pod: Pod = get(cluster, name).await?;
            let owner = stoker_core::doctor::PodFacts::of(&pod).and_then(|facts| facts.owner);
            match owner {
                Some(owner) if owner.kind == "statefulset" => {
                    let found: StatefulSet = get(cluster, &owner.name).await?;
                    Ok(from_template(name, found.spec.map(|spec| spec.template)))
                }
                Some(owner) if owner.kind == "deployment" => {
                    let found: Deployment = get(cluster, &owner.name).await?;
                    Ok(from_template(name, found.spec.map(|spec| spec.template)))
                }
                _ => Ok(pod),
            }
        }
    }
}

async fn get<K>(cluster: &Cluster, name: &str) -> Result<K, Failure>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug,
{
    let kind = K::kind(&());
    let doing = format!("read {kind} {}/{name}", cluster.namespace);
    let found = cluster.ask(&doing, api::<K>(cluster).get_opt(name)).await?;
    found.ok_or_else(|| {
        let message = format!("namespace {:?} has no {kind} {name:?}", cluster.namespace);
        let plural = K::plural(&());
        let hint = format!("choose one of: kubectl get {plural} -n {}", cluster.namespace);
        Failure::because(Reason::ObjectNotFound, message).hint(hint)
    })
}

fn from_template(name: &str, template: Option<PodTemplateSpec>) -> Pod {
    let template = template.unwrap_or_default();
    let mut metadata = template.metadata.unwrap_or_default();
    metadata.name = Some(name.to_owned());
    Pod { metadata, spec: template.spec, status: None }
}

/// The label of the namespace counts, then the operator's flag.
async fn policy(cluster: &Cluster, flag: Option<String>) -> Policy {
    let namespaces: Api<Namespace> = Api::all(cluster.client.clone());
    let labels = match namespaces.get(&cluster.namespace).await {
        Ok(namespace) => namespace.labels().clone(),
        Err(_) => BTreeMap::new(),
    };
    let word = labels.get(Label::InjectionPolicy.as_str()).cloned().or(flag);
    if word.as_deref() == Some("strict") { Policy::Strict } else { Policy::Lenient }
}
