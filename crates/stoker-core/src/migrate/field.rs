//! Fields of a document that are taken out one by one.

use serde_json::{Map, Value};

use super::Remark;

/// A document, and what is still in it.
pub(super) struct Fields {
    object: String,
    rest: Value,
}

impl Fields {
    pub(super) fn of(object: &str, value: &Value) -> Self {
        Self { object: object.to_owned(), rest: value.clone() }
    }

    /// Takes a field out.
    pub(super) fn take(&mut self, path: &str) -> Option<Value> {
        let (parent, name) = match path.rsplit_once('.') {
            Some((parent, name)) => (self.rest.pointer_mut(&pointer(parent))?, name),
            None => (&mut self.rest, path),
        };
        parent.as_object_mut()?.remove(name).filter(|value| !value.is_null())
    }

    /// Takes a field that has a text.
    pub(super) fn text(&mut self, path: &str) -> Option<String> {
        self.take(path)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// Takes fields out, and puts each into another document at the same place.
    pub(super) fn keep(&mut self, paths: &[&str], into: &mut Value) {
        for path in paths {
            if let Some(value) = self.take(path) {
                put(into, path, value);
            }
        }
    }

    /// Lists what is left; `reason` says why, by the path of the field.
    pub(super) fn rest(self, root: &str, reason: impl Fn(&str) -> String) -> Vec<Remark> {
        let mut leaves = Vec::new();
        collect(&self.rest, String::new(), &mut leaves);
        let object = self.object;
        leaves
            .into_iter()
            .map(|path| Remark {
                object: object.clone(),
                reason: reason(&path),
                field: format!("{root}{path}"),
            })
            .collect()
    }
}

/// Puts a value into a document, with the objects on the way to it.
pub(super) fn put(into: &mut Value, path: &str, value: Value) {
    let mut place = into;
    for name in path.split('.') {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        place = &mut place[name];
    }
    *place = value;
}

fn pointer(path: &str) -> String {
    format!("/{}", path.replace('.', "/"))
}

/// Lists and scalars are leaves; what is empty says nothing.
fn collect(value: &Value, at: String, leaves: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
                collect(value, path, leaves);
            }
        }
        Value::Null => {}
        Value::Array(items) if items.is_empty() => {}
        Value::String(text) if text.is_empty() => {}
        _ => leaves.push(at),
    }
}
