//! The custom resource definitions: served, and as new as this program.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::Api;
use kube::{Client, ResourceExt as _};
use stoker_api::crd;
use stoker_core::doctor::{Outdated, judge_definition};

use super::{Finding, unreadable};

/// Compares every definition in the cluster with ours.
pub(super) async fn check(client: &Client) -> Finding {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for ours in crd::all() {
        let name = ours.name_any();
        let kind = "CustomResourceDefinition";
        let found = definitions.get(&name).await;
        judge(&ours, &found.map_err(|error| unreadable(kind, &name, &error))?)?;
    }
    Ok(())
}

pub(super) fn judge(ours: &CustomResourceDefinition, found: &CustomResourceDefinition) -> Finding {
    judge_definition(ours, found).map_err(|outdated| match outdated {
        Outdated::NotServed { .. } => outdated.to_string(),
        Outdated::Lacks { .. } => {
            format!("{outdated}: set crds.upgrade, or run stoker-operator crds apply")
        }
    })
}
