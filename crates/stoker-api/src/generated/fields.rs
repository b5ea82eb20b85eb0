//! The fields of a custom resource as a page: from the schema, never by hand.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Map, Value};

use crate::crd;
use crate::names::API_VERSION;

/// Returns the page of one resource: a table of fields for every object in it, and what is refused.
pub(super) fn page(definition: &CustomResourceDefinition) -> String {
    let schema = crd::schema(definition);
    let names = &definition.spec.names;
    let short = names.short_names.iter().flatten().map(|short| format!(", short name `{short}`"));
    let parts = ["spec", "status"].map(|part| section(part, &schema["properties"][part]));
    format!(
        "# {kind}\n\n{text}\n\n`apiVersion: {API_VERSION}`, plural `{plural}`{short}.\n{parts}",
        kind = names.kind,
        text = text(&schema),
        plural = names.plural,
        short = short.collect::<String>(),
        parts = parts.concat(),
    )
}

/// The fields of one object, then the objects in them. Nothing where it is no object.
fn section(path: &str, schema: &Value) -> String {
    let Some(properties) = schema["properties"].as_object() else { return String::new() };
    let rows = properties.iter().filter(|(_, field)| !is_reserved(field)).map(|(name, field)| {
        let required = if requires(schema, name) { ", required" } else { "" };
        format!("| `{name}` | {}{required} | {} |\n", kind(field), cell(&text(field)))
    });
    let inner = properties.iter().map(|(name, field)| {
        let (path, inner) = below(&format!("{path}.{name}"), field);
        section(&path, inner)
    });
    let rows: String = rows.collect();
    let refusals = refusals(schema, properties);
    let reserved = reserved(properties);
    let inner: String = inner.collect();
    format!(
        "\n## `{path}`\n\n| field | type | text |\n|---|---|---|\n{rows}{refusals}{reserved}{inner}"
    )
}

/// Descends through lists and maps to the object that they hold.
fn below<'a>(path: &str, field: &'a Value) -> (String, &'a Value) {
    if field["items"].is_object() {
        return below(&format!("{path}[]"), &field["items"]);
    }
    if field["additionalProperties"].is_object() {
        return below(&format!("{path}.<name>"), &field["additionalProperties"]);
    }
    (path.to_owned(), field)
}

fn requires(schema: &Value, name: &str) -> bool {
    schema["required"].as_array().into_iter().flatten().any(|required| required == name)
}

fn reserved(properties: &Map<String, Value>) -> String {
    let names = properties.iter().filter(|(_, field)| is_reserved(field));
    let names: Vec<String> = names.map(|(name, _)| format!("`{name}`")).collect();
    if names.is_empty() {
        return String::new();
    }
    format!("\nReserved for later versions, and refused by this one: {}.\n", names.join(", "))
}

/// What the rules refuse. Objects have sections of their own.
fn refusals(schema: &Value, properties: &Map<String, Value>) -> String {
    let fields = properties.values().filter(|f| !is_reserved(f) && !f["properties"].is_object());
    let of_fields = fields.flat_map(|field| messages(field).chain(messages(&field["items"])));
    let told: String =
        messages(schema).chain(of_fields).map(|message| ["- ", message, "\n"].concat()).collect();
    if told.is_empty() {
        return told;
    }
    format!("\nRefused by the API server, in these words:\n\n{told}")
}

fn is_reserved(field: &Value) -> bool {
    field["x-kubernetes-validations"][0]["rule"] == "false"
}

fn messages(schema: &Value) -> impl Iterator<Item = &str> {
    let rules = schema["x-kubernetes-validations"].as_array().into_iter().flatten();
    rules.filter_map(|rule| rule["message"].as_str())
}

fn kind(field: &Value) -> String {
    if let Some(names) = field["enum"].as_array() {
        let names = names.iter().filter_map(Value::as_str).map(|name| format!("`{name}`"));
        return names.collect::<Vec<_>>().join(", ");
    }
    if field["items"].is_object() {
        return format!("list of {}{}", kind(&field["items"]), bounds(field, "Items"));
    }
    if field["additionalProperties"].is_object() {
        let inner = kind(&field["additionalProperties"]);
        return format!("map to {inner}{}", bounds(field, "Properties"));
    }
    match field["type"].as_str() {
        Some("string") if field["format"] == "date-time" => "time".to_owned(),
        Some("string") => format!("string{}", bounds(field, "Length")),
        Some("integer") => format!("integer{}", bounds(field, "imum")),
        Some(other) => other.to_owned(),
        None => "integer or string".to_owned(),
    }
}

fn bounds(field: &Value, what: &str) -> String {
    let bound = |keyword: &str| field[format!("{keyword}{what}")].as_f64();
    match (bound("min"), bound("max")) {
        (Some(least), Some(most)) if least > 1.0 || what == "imum" => {
            format!(", {least} to {most}")
        }
        (_, Some(most)) => format!(", at most {most}"),
        (Some(least), None) => format!(", at least {least}"),
        (None, None) => String::new(),
    }
}

fn text(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().to_owned()
}

/// A table's cell: one line, and no bar that would end it.
fn cell(text: &str) -> String {
    text.replace("\n\n", " ").replace('|', "\\|")
}
