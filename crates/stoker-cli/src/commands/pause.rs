//! `stoker pause` and `stoker resume`: one GatewaySync, or all of them.

use std::process::ExitCode;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams};
use serde::Serialize;
use serde_json::{Value, json};
use stoker_api::names::{MANAGED_BY, PAUSE_CONFIG_MAP};

use crate::arguments::ClusterArguments;
use crate::cli::Context;
use crate::cluster::{self, Cluster};
use crate::failure::Failure;

/// The annotation in which Kubernetes keeps why an object was changed.
const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";
const MANAGER: &str = "stoker-cli";

const PAUSE_EXAMPLES: &str = "\
Examples:
  stoker pause press -n line-1 --reason \"audit until Friday\"
  stoker pause --all --reason \"network maintenance\"

Rights: get and patch gatewaysyncs; with --all list deployments, and create and patch configmaps in
the operator's namespace.";

const RESUME_EXAMPLES: &str = "\
Examples:
  stoker resume press -n line-1
  stoker resume --all

Rights: get and patch gatewaysyncs; with --all list deployments, and patch configmaps in the
operator's namespace.";

/// Pause syncing: agents go idle, files stay as they are
///
/// --all is the emergency stop: it holds every GatewaySync of the operator until resume --all.
#[derive(Debug, clap::Args)]
#[command(after_help = PAUSE_EXAMPLES)]
pub(crate) struct PauseArguments {
    /// Why; shown in the status (--all), or kept in the annotation kubernetes.io/change-cause
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    what: What,
}

/// Resume syncing
#[derive(Debug, clap::Args)]
#[command(after_help = RESUME_EXAMPLES)]
pub(crate) struct ResumeArguments {
    #[command(flatten)]
    what: What,
}

/// One GatewaySync, or all.
#[derive(Debug, clap::Args)]
struct What {
    /// The GatewaySync
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    name: Option<String>,
    /// Every GatewaySync of the operator
    #[arg(long)]
    all: bool,
    /// The operator's namespace [default: where its Deployment is]
    #[arg(long, value_name = "NAMESPACE", requires = "all")]
    operator_namespace: Option<String>,
    #[command(flatten)]
    cluster: ClusterArguments,
}

/// What the command changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish<'a> {
    Paused(Option<&'a str>),
    Resumed,
}

/// What scripts get.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    status: &'static str,
    namespace: &'a str,
    name: Option<&'a str>,
    all: bool,
    reason: Option<&'a str>,
}

pub(crate) fn pause(arguments: &PauseArguments, context: &Context) -> Result<ExitCode, Failure> {
    run(&arguments.what, Wish::Paused(arguments.reason.as_deref()), context)
}

pub(crate) fn resume(arguments: &ResumeArguments, context: &Context) -> Result<ExitCode, Failure> {
    run(&arguments.what, Wish::Resumed, context)
}

fn run(what: &What, wish: Wish<'_>, context: &Context) -> Result<ExitCode, Failure> {
    cluster::run(&what.cluster, context, async |cluster| {
        let namespace = if let Some(name) = &what.name {
            one(&cluster, name, wish).await?;
            cluster.namespace.clone()
        } else {
            let namespace = match &what.operator_namespace {
                Some(namespace) => namespace.clone(),
                None => cluster.operator_namespace().await?,
            };
            all(&cluster, &namespace, wish).await?;
            namespace
        };
        let (status, reason) = match wish {
            Wish::Paused(reason) => ("paused", reason),
            Wish::Resumed => ("resumed", None),
        };
        let document = Document {
            status,
            namespace: &namespace,
            name: what.name.as_deref(),
            all: what.all,
            reason,
        };
        let text = match &what.name {
            Some(name) => format!("{status} {namespace}/{name}"),
            None => format!(
                "{status} every GatewaySync, by the ConfigMap {namespace}/{PAUSE_CONFIG_MAP}"
            ),
        };
        context.console.result(&document, &text, None);
        Ok(ExitCode::SUCCESS)
    })
}

async fn one(cluster: &Cluster, name: &str, wish: Wish<'_>) -> Result<(), Failure> {
    // Names those that exist where this one does not.
    cluster.sync(name).await?;
    let patch = patch_of_sync(wish);
    let doing = format!("change GatewaySync {}/{name}", cluster.namespace);
    let (syncs, parameters) = (cluster.syncs(), PatchParams::default());
    cluster.ask(&doing, syncs.patch(name, &parameters, &Patch::Merge(&patch))).await?;
    Ok(())
}

fn patch_of_sync(wish: Wish<'_>) -> Value {
    let (paused, cause) = match wish {
        Wish::Paused(reason) => (Some(true), reason.map(|reason| format!("paused: {reason}"))),
        Wish::Resumed => (None, None),
    };
    json!({
        "metadata": { "annotations": { CHANGE_CAUSE: cause } },
        "spec": { "paused": paused },
    })
}

async fn all(cluster: &Cluster, namespace: &str, wish: Wish<'_>) -> Result<(), Failure> {
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), namespace);
    let doing = format!("write ConfigMap {namespace}/{PAUSE_CONFIG_MAP}");
    let map = emergency(wish);
    let parameters = PatchParams::apply(MANAGER).force();
    cluster.ask(&doing, maps.patch(PAUSE_CONFIG_MAP, &parameters, &Patch::Apply(&map))).await?;
    Ok(())
}

fn emergency(wish: Wish<'_>) -> Value {
    let (paused, reason) = match wish {
        Wish::Paused(reason) => ("true", reason.unwrap_or_default()),
        Wish::Resumed => ("false", ""),
    };
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": PAUSE_CONFIG_MAP,
            "labels": { "app.kubernetes.io/managed-by": MANAGED_BY },
        },
        "data": { "paused": paused, "reason": reason },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_says_why_and_a_resume_leaves_nothing_behind() {
        let paused = patch_of_sync(Wish::Paused(Some("audit")));
        assert_eq!(paused["spec"]["paused"], true);
        assert_eq!(paused["metadata"]["annotations"][CHANGE_CAUSE], "paused: audit");
        let resumed = patch_of_sync(Wish::Resumed);
        assert!(resumed["spec"]["paused"].is_null(), "{resumed}");
        assert!(resumed["metadata"]["annotations"][CHANGE_CAUSE].is_null(), "{resumed}");
        assert_eq!(emergency(Wish::Resumed)["data"], json!({"paused": "false", "reason": ""}));
    }
}
