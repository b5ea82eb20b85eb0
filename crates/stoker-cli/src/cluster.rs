//! The way to a Kubernetes cluster, for the commands that need one.
//!
//! [`run`] reads the kubeconfig, makes a client and runs a command's work on a runtime of its own;
//! commands without a cluster have neither. [`Cluster::ask`] turns what the API server says
//! into a failure with a next step.

mod explain;
mod kubeconfig;

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::Api;
use kube::{Client, Config, ResourceExt as _};
use stoker_api::GatewaySync;
use stoker_api::condition::Reason;
use stoker_runtime::client::{self, Retry};

use crate::arguments::ClusterArguments;
use crate::cli::Context;
use crate::failure::Failure;
use explain::Origin;

/// The timeout of one request.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// The label of the operator's Deployments, unless the chart's `nameOverride` gives another.
const OPERATOR: &str = "app.kubernetes.io/name=stoker-operator";
/// The label that they have under any name, as many operators have.
const CONTROL_PLANE: &str = "control-plane in (controller-manager, webhook)";
/// How the label with the chart's name and version begins, whatever an installation is named.
const CHART: &str = "stoker-operator-";
/// How often a command checks whether a signal arrived.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// A cluster, and the namespace that a command is about.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    origin: Origin,
}

/// Runs work on the cluster that the flags name, until it ends or a signal comes.
pub(crate) fn run<T>(
    arguments: &ClusterArguments,
    context: &Context,
    work: impl AsyncFnOnce(Cluster) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::world(Reason::Internal, &error))?;
    let cancel = &context.interruption.cancel;
    let cancelled = async {
        while !cancel.is_cancelled() {
            tokio::time::sleep(SIGNAL_INTERVAL).await;
        }
    };
    runtime.block_on(async {
        let work = async { work(Cluster::open(arguments).await?).await };
        tokio::select! {
            result = work => result,
            () = cancelled => Err(interrupted()),
        }
    })
}

/// The result of work that goes on until Ctrl-C: being interrupted is how it ends.
pub(crate) fn until_interrupted(result: Result<ExitCode, Failure>) -> Result<ExitCode, Failure> {
    match result {
        Err(failure) if failure.reason == Reason::Cancelled => Ok(ExitCode::SUCCESS),
        result => result,
    }
}

fn interrupted() -> Failure {
    Failure::because(Reason::Cancelled, "the command was interrupted")
        .hint("what was written to the cluster stays in force")
}

impl Cluster {
    async fn open(arguments: &ClusterArguments) -> Result<Self, Failure> {
        let (config, context) = kubeconfig::load(arguments.context.as_deref()).await?;
        Self::connect(config, context, arguments.namespace.clone())
    }

    fn connect(
        config: Config,
        context: Option<String>,
        namespace: Option<String>,
    ) -> Result<Self, Failure> {
        let namespace = namespace.unwrap_or_else(|| config.default_namespace.clone());
        let origin = Origin { server: config.cluster_url.to_string(), context };
        let client = client::build(config, Retry::STANDARD).map_err(|error| {
            Failure::world(Reason::KubeconfigUnusable, &error).hint(kubeconfig::CHECK)
        })?;
        Ok(Self { client, namespace, origin })
    }

    /// Returns the GatewaySyncs of the namespace.
    pub(crate) fn syncs(&self) -> Api<GatewaySync> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Reads a GatewaySync.
    pub(crate) async fn sync(&self, name: &str) -> Result<GatewaySync, Failure> {
        let doing = format!("read GatewaySync {}/{name}", self.namespace);
        match self.ask(&doing, self.syncs().get_opt(name)).await? {
            Some(sync) => Ok(sync),
            None => Err(self.not_found(name).await),
        }
    }

    /// Waits for the response to a request, and explains a failure. `doing` completes "failed
    /// to".
    pub(crate) async fn ask<T>(
        &self,
        doing: &str,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, Failure> {
        match tokio::time::timeout(ANSWER_WITHIN, request).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(explain::failed(doing, &error, &self.origin)),
            Err(_) => Err(explain::silent(doing, ANSWER_WITHIN, &self.origin)),
        }
    }

    pub(crate) async fn operators(&self) -> Result<Vec<Deployment>, Failure> {
        let listed = self.operators_or_error();
        self.ask("list the operator's Deployments", listed).await
    }

    /// The same, with the error as the API server gave it.
    pub(crate) async fn operators_or_error(&self) -> kube::Result<Vec<Deployment>> {
        let all: Api<Deployment> = Api::all(self.client.clone());
        let list = async |labels: &str| -> kube::Result<Vec<Deployment>> {
            let parameters = kube::api::ListParams::default().labels(labels);
            Ok(all.list(&parameters).await?.items)
        };
        let (mut found, others) =
            futures::future::try_join(list(OPERATOR), list(CONTROL_PLANE)).await?;
        let is_ours = |it: &Deployment| {
            let chart = it.labels().get("helm.sh/chart");
            chart.is_some_and(|chart| chart.starts_with(CHART))
                && found.iter().all(|known| known.metadata.uid != it.metadata.uid)
        };
        let others: Vec<Deployment> = others.into_iter().filter(is_ours).collect();
        found.extend(others);
        Ok(found)
    }

    pub(crate) async fn operator_namespace(&self) -> Result<String, Failure> {
        let operators = self.operators().await?;
        let namespaces = operators.into_iter().filter_map(|it| it.metadata.namespace);
        let namespaces: BTreeSet<String> = namespaces.collect();
        let mut namespaces = namespaces.into_iter();
        match (namespaces.next(), namespaces.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => Err(explain::which_operator("found no Deployment of the operator")),
            (Some(_), Some(_)) => Err(explain::which_operator("the cluster has several operators")),
        }
    }

    /// Explains an error of a request.
    pub(crate) fn failed(&self, doing: &str, error: &kube::Error) -> Failure {
        explain::failed(doing, error, &self.origin)
    }

    /// A GatewaySync does not exist; those that do are named, as far as they may be seen.
    async fn not_found(&self, name: &str) -> Failure {
        let parameters = kube::api::ListParams::default().limit(explain::MOST_NAMES);
        let listed = self.ask("list GatewaySyncs", self.syncs().list(&parameters)).await;
        match listed {
            Ok(list) => {
                let names = list.items.into_iter().filter_map(|item| item.metadata.name);
                explain::not_found(&self.namespace, name, &names.collect::<Vec<_>>())
            }
            // Without the definition the server says "not found", too.
            Err(failure) if failure.reason == Reason::NotInstalled => failure,
            Err(_) => explain::not_found(&self.namespace, name, &[]),
        }
    }
}
