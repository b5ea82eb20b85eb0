//! `stoker migrate`: manifests of other tools become manifests of Stoker.

use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Resource;
use kube::api::{Api, ListParams};
use kube::core::NamespaceResourceScope;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use stoker_api::condition::Reason;
use stoker_core::migrate::{Migration, Options, migrate};

use crate::arguments::{ClusterArguments, Map};
use crate::cli::Context;
use crate::cluster::{self, Cluster};
use crate::failure::Failure;
use crate::output::{Format, shown};

const EXAMPLES: &str = "\
Examples:
  stoker migrate -f ignitionsync.yaml -f statefulsets.yaml --to gatewaysync.yaml
  stoker migrate --from-configmap git-sync-env-site -n site1 --map services/site/projects:projects \\
    --to gatewaysync.yaml --data ./copy-of-the-data-directory -- --ssh-key-file id --known-hosts-file kh

Rights with --from-configmap: get configmaps, list statefulsets and deployments.";

/// Turn git-sync, IgnitionSync or the Go operator's manifests into manifests of Stoker
///
/// Lists every field that does not come along or is left to you, and why. Nothing is changed: the
/// manifests are printed or written to a file, and the commands that change workloads are printed.
/// With --data it then plans a sync against a copy of the gateway's data directory: exit 0 proves
/// that the cut-over changes no file, exit 3 lists what it would change.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Manifests to read, - for standard input (repeatable)
    #[arg(
        short = 'f',
        long = "file",
        value_name = "FILE",
        required_unless_present = "from_configmap"
    )]
    files: Vec<PathBuf>,
    /// The ConfigMap of a git-sync in the cluster; the workloads that use it are read, too
    #[arg(long, value_name = "NAME")]
    from_configmap: Option<String>,
    /// What goes where, for tools that do not say it (repeatable)
    #[arg(long, value_name = "SRC:DST", value_parser = Map::parse)]
    map: Vec<Map>,
    /// The ref, where the source has none
    #[arg(long = "ref", value_name = "REF")]
    git_ref: Option<String>,
    /// The name of the GatewaySync [default: that of the source]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Write the manifests to this file [default: standard output]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// A copy of a gateway's data directory, to prove that the cut-over changes nothing
    #[arg(long, value_name = "DIR", requires = "to")]
    data: Option<PathBuf>,
    /// Flags of stoker plan for that, such as credentials and --profile
    #[arg(last = true, value_name = "PLAN FLAGS", requires = "data")]
    plan: Vec<OsString>,
    #[command(flatten)]
    cluster: ClusterArguments,
}

pub(crate) fn run(arguments: &Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let mut documents = Vec::new();
    for file in &arguments.files {
        documents.extend(read(file)?);
    }
    if let Some(name) = &arguments.from_configmap {
        let found = cluster::run(&arguments.cluster, context, async |cluster| {
            from_cluster(&cluster, name).await
        });
        documents.extend(found?);
    }
    let options = Options {
        name: arguments.name.clone(),
        namespace: arguments.cluster.namespace.clone(),
        maps: arguments
            .map
            .iter()
            .map(|map| (map.source.clone(), map.destination.clone()))
            .collect(),
        git_ref: arguments.git_ref.clone(),
    };
    let migration = migrate(&documents, &options).map_err(|error| {
        let failure = Failure::world(Reason::MigrationFailed, &error);
        match error {
            stoker_core::migrate::Error::NoMappings { .. } => {
                failure.hint("say what goes where: --map services/site/projects:projects")
            }
            _ => failure,
        }
    })?;
    let manifests = manifests(&migration)?;
    if let Some(file) = &arguments.to {
        fs::write(file, &manifests).map_err(|error| {
            Failure::because(
                Reason::WriteFailed,
                format!("failed to write {}: {error}", shown(file)),
            )
        })?;
    }
    print(arguments, context, &migration, &manifests);
    match (&arguments.data, &arguments.to) {
        (Some(data), Some(file)) => prove(file, data, &arguments.plan),
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn print(arguments: &Arguments, context: &Context, migration: &Migration, manifests: &str) {
    let console = &context.console;
    if console.format == Format::Table && arguments.to.is_none() {
        console.page(manifests);
    } else if console.format != Format::Table {
        console.result(migration, "", None);
    }
    for dropped in &migration.dropped {
        let (object, field, reason) = (&dropped.object, &dropped.field, &dropped.reason);
        console.note(&format!("dropped {field} of {object}: {reason}"));
    }
    for unset in &migration.unset {
        let (object, field, reason) = (&unset.object, &unset.field, &unset.reason);
        console.note(&format!("not set {field} of {object}: {reason}"));
    }
    for command in &migration.commands {
        console.note(&format!("next: {command}"));
    }
}

fn manifests(migration: &Migration) -> Result<String, Failure> {
    let mut text = String::new();
    for object in &migration.objects {
        let document = serde_saphyr::to_string(object);
        let document =
            document.map_err(|error| Failure::because(Reason::Internal, error.to_string()))?;
        if !text.is_empty() {
            text.push_str("---\n");
        }
        text.push_str(document.trim_end());
        text.push('\n');
    }
    Ok(text)
}

fn read(path: &Path) -> Result<Vec<Value>, Failure> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin().read_to_string(&mut text)
    } else {
        fs::File::open(path).and_then(|mut file| file.read_to_string(&mut text))
    };
    read.map_err(|error| Failure::usage(format!("failed to read {}: {error}", shown(path))))?;
    let values: Vec<Value> = serde_saphyr::from_multiple(&text)
        .map_err(|error| Failure::usage(format!("{} is not YAML: {error}", shown(path))))?;
    let lists = values.into_iter().flat_map(|value| match value["items"].as_array() {
        Some(items) if value["kind"].as_str().is_some_and(|kind| kind.ends_with("List")) => {
            items.clone()
        }
        _ => vec![value],
    });
    Ok(lists.filter(|value| !value.is_null()).collect())
}

/// The ConfigMap, and the workloads of its namespace.
async fn from_cluster(cluster: &Cluster, name: &str) -> Result<Vec<Value>, Failure> {
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let doing = format!("read ConfigMap {}/{name}", cluster.namespace);
    let map = cluster.ask(&doing, maps.get(name)).await?;
    let mut documents = vec![document(&map)];
    documents.extend(all::<StatefulSet>(cluster).await?);
    documents.extend(all::<Deployment>(cluster).await?);
    // Only workloads that use this ConfigMap are asked to change.
    let wanted = json!(name).to_string();
    documents.retain(|it| it["kind"] == "ConfigMap" || it.to_string().contains(&wanted));
    Ok(documents)
}

async fn all<K>(cluster: &Cluster) -> Result<Vec<Value>, Failure>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + Serialize
        + std::fmt::Debug,
{
    let objects: Api<K> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let doing = format!("list {}", K::plural(&()));
    let listed = cluster.ask(&doing, objects.list(&ListParams::default())).await?;
    Ok(listed.items.iter().map(document).collect())
}

/// An object as a manifest has it: items of a list do not say what they are.
fn document<K: Resource<DynamicType = ()> + Serialize>(object: &K) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    value["kind"] = json!(K::kind(&()));
    value["apiVersion"] = json!(K::api_version(&()));
    value
}

/// Plans a sync of the manifests against a copy of the data directory.
fn prove(file: &Path, data: &Path, flags: &[OsString]) -> Result<ExitCode, Failure> {
    let failed = |error| Failure::world(Reason::Internal, &error);
    let program = std::env::current_exe().map_err(failed)?;
    let mut command = Command::new(program);
    command.arg("plan").arg("-f").arg(file).arg("--data").arg(data).arg("--exit-code").args(flags);
    let status = command.status().map_err(failed)?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
