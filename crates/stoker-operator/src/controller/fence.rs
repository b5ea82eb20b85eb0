//! Says where reports are not tied to their pods: without the chart's policy, RBAC alone decides who
//! may write the report of a gateway.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use kube::Client;
use kube::api::Api;
use stoker_api::chain::Chain;

use super::Context;
use super::apply::is_not_found;

const INTERVAL: Duration = Duration::from_mins(10);

/// What is known of the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Fence {
    /// It is in force.
    Stands,
    /// It is not, and this is why.
    Open(&'static str),
    /// It could not be read.
    Unknown(String),
}

/// Looks now and then while this instance leads, and tells every change.
pub(crate) async fn follow(context: Arc<Context>) {
    let Some(name) = context.settings.status_policy.as_deref() else {
        tracing::info!("--status-policy is not set: whether reports are fenced is not checked");
        return;
    };
    let mut before = None;
    loop {
        let found = look(&context.shared.client, name).await;
        if before.as_ref() != Some(&found) {
            tell(name, &found);
            before = Some(found);
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

async fn look(client: &Client, name: &str) -> Fence {
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(client.clone());
    match policies.get(name).await {
        Ok(_) => {}
        // Also where the API server does not know the kind.
        Err(error) if is_not_found(&error) => return Fence::Open("the policy is missing"),
        Err(error) => return Fence::Unknown(Chain(&error).to_string()),
    }
    let bindings: Api<ValidatingAdmissionPolicyBinding> = Api::all(client.clone());
    match bindings.get(name).await {
        Ok(binding) => {
            let actions = binding.spec.and_then(|spec| spec.validation_actions).unwrap_or_default();
            let denies = actions.iter().any(|action| action == "Deny");
            if denies { Fence::Stands } else { Fence::Open("its binding denies nothing") }
        }
        Err(error) if is_not_found(&error) => Fence::Open("the policy is not bound"),
        Err(error) => Fence::Unknown(Chain(&error).to_string()),
    }
}

fn tell(policy: &str, found: &Fence) {
    match found {
        Fence::Stands => tracing::info!(policy, "reports are fenced"),
        Fence::Open(why) => tracing::warn!(
            policy,
            "reports are not fenced, {why}: a pod with the service account of a gateway can write \
             the reports of other gateways; install the chart's ValidatingAdmissionPolicy, which \
             needs Kubernetes 1.30"
        ),
        Fence::Unknown(error) => {
            tracing::warn!(policy, error, "whether reports are fenced is not known");
        }
    }
}
