//! The kind of a document, by `apiVersion` and `kind`: Stoker's, a Secret, or for a cluster only.

use serde_json::Value;
use stoker_api::names::GROUP;
use stoker_api::validation;

use crate::failure::Failure;

/// What a document is to a command line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Of our group, or of none that could be read: it must be right.
    Ours,
    /// What references may name.
    Secret,
    /// For a cluster only.
    Foreign {
        /// Its kind and name, and whose it is.
        title: String,
    },
}

impl Kind {
    /// Looks at a document; the error says what it is instead of one.
    pub(super) fn of(value: &Value) -> Result<Self, &'static str> {
        match value {
            Value::Object(_) => {}
            Value::Null => return Err("nothing"),
            Value::Bool(_) => return Err("true or false"),
            Value::Number(_) => return Err("a number"),
            Value::String(_) => return Err("a text"),
            Value::Array(_) => return Err("a list"),
        }
        let (Some(version), Some(kind)) = (value["apiVersion"].as_str(), value["kind"].as_str())
        else {
            return Ok(Self::Ours);
        };
        Ok(match (version, kind) {
            ("v1", "Secret") => Self::Secret,
            _ if version.split('/').next() == Some(GROUP) => Self::Ours,
            _ => Self::Foreign { title: format!("{} of {version}", title(value)) },
        })
    }
}

/// Refuses a document of ours that is of no kind that we know.
pub(super) fn check(name: &str, value: &Value) -> Result<(), Failure> {
    validation::check_kind(value).map_err(|error| {
        let message = format!("{name}: {}: {error}", title(value));
        Failure::usage(message).hint(format!("fix apiVersion and kind in {name}"))
    })
}

/// Kind and name, as far as there are some.
pub(super) fn title(value: &Value) -> String {
    let kind = value["kind"].as_str().unwrap_or("document without a kind");
    match value["metadata"]["name"].as_str() {
        Some(name) => format!("{kind} {name}"),
        None => kind.to_owned(),
    }
}
