//! The part of JSON schema that our definitions use.

use serde_json::{Map, Value};

use super::Violation;

/// Returns what `value` lacks or has too much of.
pub(super) fn check(schema: &Value, value: &Value) -> Vec<Violation> {
    let mut walk = Walk { found: Vec::new() };
    walk.value(schema, value, "");
    walk.found
}

struct Walk {
    found: Vec<Violation>,
}

impl Walk {
    fn refuse(&mut self, field: &str, message: impl Into<String>) {
        self.found.push(Violation { field: field.to_owned(), message: message.into() });
    }

    fn value(&mut self, schema: &Value, value: &Value, field: &str) {
        if schema["x-kubernetes-int-or-string"] == true {
            if !value.is_string() && !value.is_i64() {
                self.refuse(field, "must be a number or a string");
            }
            return;
        }
        let wanted = schema["type"].as_str().unwrap_or("object");
        let found = kind(value);
        if wanted != found && !(wanted == "number" && found == "integer") {
            return self.refuse(field, format!("must be of type {wanted}, this is {found}"));
        }
        match value {
            Value::Object(object) => self.object(schema, object, field),
            Value::Array(items) => self.array(schema, items, field),
            Value::String(text) => self.text(schema, text, field),
            Value::Number(number) => {
                self.number(schema, number.as_i64().unwrap_or_default(), field);
            }
            Value::Bool(_) | Value::Null => {}
        }
    }

    fn object(&mut self, schema: &Value, object: &Map<String, Value>, field: &str) {
        self.bound(field, object.len(), &limits(schema, "Properties", "entries"));
        for name in schema["required"].as_array().into_iter().flatten() {
            let name = name.as_str().unwrap_or_default();
            if !object.contains_key(name) {
                self.refuse(&join(field, name), "is missing");
            }
        }
        for (name, value) in object {
            let path = join(field, name);
            // The API server checks these itself, and our schema says nothing about them.
            if field.is_empty() && matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
                continue;
            }
            if let Some(inner) = schema["properties"].get(name) {
                self.value(inner, value, &path);
            } else if schema["additionalProperties"].is_object() {
                self.value(&schema["additionalProperties"], value, &path);
            } else if schema["x-kubernetes-preserve-unknown-fields"] != true {
                self.refuse(&path, unknown(schema, name));
            }
        }
    }

    fn array(&mut self, schema: &Value, items: &[Value], field: &str) {
        self.bound(field, items.len(), &limits(schema, "Items", "items"));
        for (index, item) in items.iter().enumerate() {
            self.value(&schema["items"], item, &format!("{field}[{index}]"));
        }
    }

    fn text(&mut self, schema: &Value, text: &str, field: &str) {
        self.bound(field, text.chars().count(), &limits(schema, "Length", "characters"));
        if let Some(names) = schema["enum"].as_array()
            && !names.iter().any(|name| name == text)
        {
            let names = names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
            self.refuse(field, format!("must be one of {names}, this is {text:?}"));
        }
    }

    fn number(&mut self, schema: &Value, number: i64, field: &str) {
        // Bounds come out of the derive as floating point numbers.
        #[expect(clippy::cast_precision_loss, reason = "bounds are far below 2^52")]
        let number = number as f64;
        if let Some(least) = schema["minimum"].as_f64().filter(|least| number < *least) {
            self.refuse(field, format!("must be at least {least}"));
        }
        if let Some(most) = schema["maximum"].as_f64().filter(|most| number > *most) {
            self.refuse(field, format!("must be at most {most}"));
        }
    }

    fn bound(&mut self, field: &str, size: usize, limits: &Limits) {
        let Limits { least, most, noun } = limits;
        let size = size as u64;
        if let Some(least) = least.filter(|least| size < *least) {
            self.refuse(field, format!("must have at least {least} {noun}"));
        }
        if let Some(most) = most.filter(|most| size > *most) {
            self.refuse(field, format!("must have at most {most} {noun}, this has {size}"));
        }
    }
}

struct Limits {
    least: Option<u64>,
    most: Option<u64>,
    noun: &'static str,
}

fn limits(schema: &Value, what: &str, noun: &'static str) -> Limits {
    let limit = |keyword: &str| schema[format!("{keyword}{what}")].as_u64();
    Limits { least: limit("min"), most: limit("max"), noun }
}

fn unknown(schema: &Value, name: &str) -> String {
    let known = schema["properties"].as_object().into_iter().flat_map(Map::keys);
    let distance =
        |known: &String| strsim::damerau_levenshtein(&known.to_lowercase(), &name.to_lowercase());
    match known.map(|known| (distance(known), known)).min() {
        Some((distance, nearest)) if distance <= 3 => {
            format!("is not a known field; did you mean {nearest:?}?")
        }
        _ => "is not a known field".to_owned(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn join(field: &str, name: &str) -> String {
    if field.is_empty() { name.to_owned() } else { format!("{field}.{name}") }
}
