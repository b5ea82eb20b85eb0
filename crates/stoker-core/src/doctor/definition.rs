//! A custom resource definition: served, and as new as this program.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion, JSONSchemaProps,
};

/// Why a definition does not fit this program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "a field is named after what it holds")]
pub enum Outdated {
    /// The API server does not serve it.
    #[error("the API server does not serve {name} yet")]
    NotServed { name: String },
    /// It lacks a field that this program knows.
    #[error("the definition {name} is of an older version, without {field:?}")]
    Lacks {
        name: String,
        /// The first such field.
        field: String,
    },
}

/// Compares a definition in the cluster with ours.
pub fn judge(
    ours: &CustomResourceDefinition,
    found: &CustomResourceDefinition,
) -> Result<(), Outdated> {
    let name = ours.metadata.name.clone().unwrap_or_default();
    let conditions = found.status.iter().flat_map(|status| status.conditions.iter().flatten());
    if !conditions.into_iter().any(|it| it.type_ == "Established" && it.status == "True") {
        return Err(Outdated::NotServed { name });
    }
    for version in &ours.spec.versions {
        let other = found.spec.versions.iter().find(|other| other.name == version.name);
        let missing = match (schema(version), other.and_then(schema)) {
            (Some(ours), Some(found)) => missing_field(ours, found, ""),
            (Some(_), None) => Some(version.name.clone()),
            (None, _) => None,
        };
        if let Some(field) = missing {
            return Err(Outdated::Lacks { name, field });
        }
    }
    Ok(())
}

fn schema(version: &CustomResourceDefinitionVersion) -> Option<&JSONSchemaProps> {
    version.schema.as_ref()?.open_api_v3_schema.as_ref()
}

/// Returns the path of the first field that only our definition has.
fn missing_field(ours: &JSONSchemaProps, found: &JSONSchemaProps, at: &str) -> Option<String> {
    let empty = std::collections::BTreeMap::new();
    let known = found.properties.as_ref().unwrap_or(&empty);
    ours.properties.iter().flatten().find_map(|(name, field)| {
        let path = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
        match known.get(name) {
            Some(other) => missing_field(field, other, &path),
            None => Some(path),
        }
    })
}
