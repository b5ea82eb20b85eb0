//! What the API server says, in words with a next step.

use std::time::Duration;

use kube::core::Status;
use stoker_api::chain::Chain;
use stoker_api::condition::Reason;

use crate::failure::Failure;

/// How many names of GatewaySyncs are listed.
pub(super) const MOST_NAMES: u32 = 20;

/// The cluster that a command talks to.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    /// The URL of the API server.
    pub(super) server: String,
    /// The context of the kubeconfig.
    pub(super) context: Option<String>,
}

impl Origin {
    /// Completes a command of kubectl, so that it asks the same cluster.
    fn flag(&self) -> String {
        self.context.as_ref().map_or_else(String::new, |name| format!(" --context {name}"))
    }
}

/// The API server refused a request, or could not be reached.
pub(super) fn failed(doing: &str, error: &kube::Error, origin: &Origin) -> Failure {
    let flag = origin.flag();
    match error {
        kube::Error::Api(status) => refused(doing, status, origin),
        kube::Error::Auth(cause) => failure(
            Reason::ClusterForbidden,
            format!("failed to {doing}: no credentials for {}: {}", origin.server, Chain(cause)),
            format!("log in again, then check: kubectl auth whoami{flag}"),
        ),
        kube::Error::SerdeError(cause) => failure(
            Reason::ClusterFailed,
            format!("failed to {doing}: the answer of {} can't be read: {cause}", origin.server),
            "use the stoker of the same version as the operator: stoker --version".to_owned(),
        ),
        error => {
            // What the library calls itself says nothing; its cause does.
            let error: &dyn std::error::Error = error;
            let cause =
                error.source().map_or_else(|| error.to_string(), |it| Chain(it).to_string());
            failure(
                Reason::ClusterUnreachable,
                format!("failed to {doing}: failed to reach {}: {cause}", origin.server),
                format!("check that the cluster is there: kubectl cluster-info{flag}"),
            )
        }
    }
}

/// The API server did not respond.
pub(super) fn silent(doing: &str, within: Duration, origin: &Origin) -> Failure {
    let seconds = within.as_secs();
    failure(
        Reason::ClusterUnreachable,
        format!("failed to {doing}: {} did not answer within {seconds} s", origin.server),
        format!("check that the cluster is there: kubectl cluster-info{}", origin.flag()),
    )
}

fn refused(doing: &str, status: &Status, origin: &Origin) -> Failure {
    let (flag, said) = (origin.flag(), &status.message);
    let (reason, hint) = match status.code {
        401 => (
            Reason::ClusterForbidden,
            format!("log in again, then check: kubectl auth whoami{flag}"),
        ),
        403 => (
            Reason::ClusterForbidden,
            format!(
                "ask for the right, or use another context; who you are: kubectl auth whoami{flag}"
            ),
        ),
        // A request for an object that does not exist names it; one for an unknown kind does not.
        404 if is_unknown_kind(status) => {
            let message = format!("failed to {doing}: {} does not have Stoker", origin.server);
            let hint = format!(
                "choose the right --context, or install it; check: kubectl get crds gatewaysyncs.stoker.io{flag}"
            );
            return failure(Reason::NotInstalled, message, hint);
        }
        _ => (Reason::ClusterFailed, format!("check the cluster: kubectl get --raw /readyz{flag}")),
    };
    failure(reason, format!("failed to {doing}: {said} ({})", status.code), hint)
}

fn is_unknown_kind(status: &Status) -> bool {
    status.details.as_ref().is_none_or(|details| details.name.is_empty())
}

/// A GatewaySync does not exist.
pub(super) fn not_found(namespace: &str, name: &str, names: &[String]) -> Failure {
    let message = format!("namespace {namespace:?} has no GatewaySync {name:?}");
    let hint = if names.is_empty() {
        "choose its namespace with -n; all of them: kubectl get gatewaysyncs -A".to_owned()
    } else {
        format!("it has {}; for another namespace use -n", names.join(", "))
    };
    failure(Reason::GatewaySyncNotFound, message, hint)
}

/// The operator's namespace is not known.
pub(super) fn which_operator(why: &str) -> Failure {
    failure(
        Reason::NotInstalled,
        format!("{why}, so its namespace is not known"),
        "name it with --operator-namespace; all candidates: kubectl get deployments -A -l \
         app.kubernetes.io/name=stoker-operator"
            .to_owned(),
    )
}

fn failure(reason: Reason, message: String, hint: String) -> Failure {
    Failure::because(reason, message).hint(hint)
}
