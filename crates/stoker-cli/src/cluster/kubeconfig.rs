//! Which cluster: the context of a kubeconfig, or the service account of a pod.

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use stoker_api::condition::Reason;

use crate::failure::Failure;

/// The hint for a kubeconfig that can't be used.
pub(super) const CHECK: &str = "check the kubeconfig: kubectl config view --minify";

/// Reads the configuration of a context, or of the current one. Also returns the name of the
/// context; in a pod without a kubeconfig there is none.
pub(super) async fn load(context: Option<&str>) -> Result<(Config, Option<String>), Failure> {
    let file = match Kubeconfig::read() {
        Ok(file) => file,
        Err(error) => {
            let pod = if context.is_none() { Config::incluster().ok() } else { None };
            return pod.map(|config| (config, None)).ok_or_else(|| unreadable(&error));
        }
    };
    let name = context.map(str::to_owned).or_else(|| file.current_context.clone());
    let names: Vec<String> = file.contexts.iter().map(|context| context.name.clone()).collect();
    if let Some(name) = name.as_ref().filter(|name| !names.contains(name)) {
        return Err(unknown(name, &names));
    }
    let options = KubeConfigOptions { context: name.clone(), ..KubeConfigOptions::default() };
    match Config::from_custom_kubeconfig(file, &options).await {
        Ok(config) => Ok((config, name)),
        Err(error @ KubeconfigError::CurrentContextNotSet) => {
            let hint = format!("choose one with --context: {}", list(&names));
            Err(Failure::world(Reason::KubeconfigUnusable, &error).hint(hint))
        }
        Err(error) => Err(Failure::world(Reason::KubeconfigUnusable, &error).hint(CHECK)),
    }
}

fn unreadable(error: &KubeconfigError) -> Failure {
    Failure::world(Reason::KubeconfigUnusable, error)
        .hint("set KUBECONFIG to the file of your cluster, then check it: kubectl cluster-info")
}

fn unknown(name: &str, names: &[String]) -> Failure {
    let message = format!("the kubeconfig has no context {name:?}");
    let hint = format!("choose one with --context: {}", list(names));
    let failure = Failure::usage(message).hint(hint);
    Failure { reason: Reason::KubeconfigUnusable, ..failure }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "there is none".to_owned() } else { names.join(", ") }
}
