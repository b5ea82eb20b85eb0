//! The custom resource definitions as they are installed.
//!
//! What the derive makes is cleaned: a `null` that is allowed, or a default, would be stored and
//! owned for every optional field; and the line breaks of our source are not those of a reader.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps,
};
use kube::CustomResourceExt;
use serde_json::Value;

use crate::rule;
use crate::{GatewaySync, PodBootstrap, SyncProfile};

/// Returns the definition of GatewaySync.
pub fn gateway_sync() -> CustomResourceDefinition {
    clean(GatewaySync::crd(), |root| {
        root["x-kubernetes-validations"] = rule::cr_name();
    })
}

/// Returns the definition of SyncProfile.
pub fn sync_profile() -> CustomResourceDefinition {
    clean(SyncProfile::crd(), |_| {})
}

/// Returns the definition of PodBootstrap.
pub fn pod_bootstrap() -> CustomResourceDefinition {
    clean(PodBootstrap::crd(), |_| {})
}

/// Returns every definition, in the order in which they are installed.
pub fn all() -> Vec<CustomResourceDefinition> {
    vec![gateway_sync(), sync_profile(), pod_bootstrap()]
}

/// Returns the schema of the definition's only version.
pub fn schema(definition: &CustomResourceDefinition) -> Value {
    let schema = definition.spec.versions.first().and_then(|version| version.schema.as_ref());
    let props = schema.and_then(|schema| schema.open_api_v3_schema.as_ref());
    serde_json::to_value(props).expect("a schema is plain data, so it serialises")
}

fn clean(
    mut definition: CustomResourceDefinition,
    add: impl FnOnce(&mut Value),
) -> CustomResourceDefinition {
    let mut root = schema(&definition);
    strip(&mut root);
    add(&mut root);
    let props: JSONSchemaProps =
        serde_json::from_value(root).expect("a schema without some keywords is still a schema");
    for version in &mut definition.spec.versions {
        if let Some(validation) = &mut version.schema {
            validation.open_api_v3_schema = Some(props.clone());
        }
    }
    definition
}

fn strip(schema: &mut Value) {
    let Some(keywords) = schema.as_object_mut() else { return };
    keywords.remove("nullable");
    keywords.remove("title");
    keywords.remove("default");
    if let Some(Value::Array(names)) = keywords.get_mut("enum") {
        names.retain(|name| !name.is_null());
    }
    if let Some(Value::String(text)) = keywords.get_mut("description") {
        *text = reflow(text);
    }
    if let Some(Value::Object(properties)) = keywords.get_mut("properties") {
        properties.values_mut().for_each(strip);
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(inner) = keywords.get_mut(keyword) {
            strip(inner);
        }
    }
}

/// Joins the lines of each paragraph.
fn reflow(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}
