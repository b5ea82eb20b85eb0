//! What is generated from the words: the CRDs, a policy and the reference pages.
//!
//! Pure functions from types to text; `cargo xtask generate` writes the files, and CI fails when
//! they are stale.

mod fields;
mod policy;
mod reference;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::crd;

pub use policy::{OPERATOR_USER, status_policy};
pub use reference::reference_pages;

const HEADER: &str = "# Generated, do not edit: cargo xtask generate\n";

/// Returns the CRDs as files for `charts/stoker-operator/crds/`: name and content.
pub fn crd_yaml() -> Vec<(&'static str, String)> {
    vec![
        ("stoker.io_gatewaysyncs.yaml", yaml(&crd::gateway_sync())),
        ("stoker.io_syncprofiles.yaml", yaml(&crd::sync_profile())),
        ("stoker.io_podbootstraps.yaml", yaml(&crd::pod_bootstrap())),
    ]
}

fn yaml(definition: &CustomResourceDefinition) -> String {
    let body = serde_saphyr::to_string(definition)
        .expect("a definition has string keys only, so it serialises");
    format!("{HEADER}{body}")
}

#[cfg(test)]
mod tests;
