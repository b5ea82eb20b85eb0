//! The custom resource definitions: served, and as new as this program.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps,
};
use kube::api::Api;
use kube::{Client, ResourceExt as _};
use stoker_api::crd;

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
    let name = ours.name_any();
    let conditions = found.status.iter().flat_map(|status| status.conditions.iter().flatten());
    if !conditions.into_iter().any(|it| it.type_ == "Established" && it.status == "True") {
        return Err(format!("the API server does not serve {name} yet"));
    }
    for version in &ours.spec.versions {
        let other = found.spec.versions.iter().find(|other| other.name == version.name);
        let schema = |version: &k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinitionVersion| {
            version.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.clone())
        };
        let missing = match (schema(version), other.and_then(schema)) {
            (Some(ours), Some(found)) => missing_field(&ours, &found, String::new()),
            (Some(_), None) => Some(version.name.clone()),
            (None, _) => None,
        };
        if let Some(field) = missing {
            return Err(format!(
                "the definition {name} is of an older version, without {field:?}: set crds.upgrade, or \
                 run stoker-operator crds apply"
            ));
        }
    }
    Ok(())
}

/// Returns the path of the first field that only our definition has.
fn missing_field(ours: &JSONSchemaProps, found: &JSONSchemaProps, at: String) -> Option<String> {
    let empty = std::collections::BTreeMap::new();
    let known = found.properties.as_ref().unwrap_or(&empty);
    ours.properties.iter().flatten().find_map(|(name, field)| {
        let path = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
        match known.get(name) {
            Some(other) => missing_field(field, other, path),
            None => Some(path),
        }
    })
}
