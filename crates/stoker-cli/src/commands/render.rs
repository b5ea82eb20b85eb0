//! `stoker render`: what would be injected into a pod, and why.

mod explain;

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
use stoker_api::names::{DEFAULT_AGENT_IMAGE, Label};
use stoker_core::admission::{Image, Policy, Settings};

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
image and policy also get namespaces and list deployments.";

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
        let syncs =
            cluster.ask("list GatewaySyncs", cluster.syncs().list(&ListParams::default())).await?;
        let profiles: Api<SyncProfile> = api(&cluster);
        let profiles =
            cluster.ask("list SyncProfiles", profiles.list(&ListParams::default())).await?;
        let (settings, flag, note) = settings(&cluster).await;
        if let Some(note) = note {
            context.console.note(&format!("warning: {note}"));
        }
        let policy = policy(&cluster, flag).await;
        let question = Question {
            pod: &pod,
            namespace: &cluster.namespace,
            syncs: &syncs.items,
            profiles: &profiles.items,
            settings: &settings,
            policy,
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

/// Returns what the operator was started with, and its injection policy.
async fn settings(cluster: &Cluster) -> (Settings, Option<String>, Option<String>) {
    let own = format!("ghcr.io/stoker-io/stoker-agent:{}", env!("CARGO_PKG_VERSION"));
    let found = cluster.operators().await.ok().and_then(|all| all.into_iter().next());
    let note = found.is_none().then(|| {
        "the operator's Deployment was not found: its default image and policy are assumed"
            .to_owned()
    });
    let containers = found.iter().flat_map(|it| it.spec.iter());
    let containers = containers.flat_map(|spec| spec.template.spec.iter());
    let container = containers.flat_map(|spec| &spec.containers).next();
    let environment = |name: &str| {
        let variables = container.iter().flat_map(|it| it.env.iter().flatten());
        variables.filter(|it| it.name == name).find_map(|it| it.value.clone())
    };
    let flag = |name: &str| {
        let prefix = format!("--{name}=");
        let arguments = container.iter().flat_map(|it| it.args.iter().flatten());
        arguments.filter_map(|it| it.strip_prefix(&prefix)).map(str::to_owned).next()
    };
    let list = |text: Option<String>| {
        let text = text.unwrap_or_default();
        text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let image = environment(DEFAULT_AGENT_IMAGE).and_then(|text| text.parse::<Image>().ok());
    let settings = Settings {
        default_image: image.unwrap_or_else(|| own.parse().expect("an image of our own")),
        allowed_repositories: list(flag("allowed-agent-images")),
        pull_secrets: list(flag("agent-pull-secret")),
    };
    (settings, flag("injection-policy"), note)
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
