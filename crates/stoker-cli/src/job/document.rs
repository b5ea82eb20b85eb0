//! The `-f` file: one `GatewaySync` or `SyncProfile` and the Secrets beside it. Documents of other
//! kinds are named in a warning and skipped.

mod fault;
mod kind;

use std::fs;
use std::io::Read as _;
use std::path::Path;

use serde_json::{Value, json};
use stoker_api::names::Annotation;
use stoker_api::validation::{self, Violation};
use stoker_api::{GatewaySync, SyncProfile};

use crate::failure::Failure;
use crate::output::shown;
use kind::{Kind, title};

/// The largest file that is read: a manifest in a cluster may have 1 MiB, and Secrets come beside
/// it.
const LARGEST: u64 = 8 << 20;

/// What a file holds.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    /// What is to be synced.
    pub(crate) subject: Option<Subject>,
    /// Secrets, as they are.
    pub(crate) secrets: Vec<Value>,
    /// The titles of documents that are for a cluster only.
    pub(crate) skipped: Vec<String>,
}

/// What is to be synced.
#[derive(Debug)]
pub(crate) enum Subject {
    /// Repository, ref and profiles.
    GatewaySync(Box<GatewaySync>),
    /// One profile; repository and ref come by flags.
    SyncProfile(Box<SyncProfile>),
}

impl Documents {
    /// Reads a file, `-` for standard input; nothing without one.
    pub(crate) fn read(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self::default()) };
        let is_piped = path == Path::new("-");
        let name = if is_piped { "standard input".to_owned() } else { shown(path).to_string() };
        let text = text_of(path).map_err(|error| fault::unreadable(&name, &error))?;
        let values: Vec<Value> =
            serde_saphyr::from_multiple(&text).map_err(|error| fault::not_yaml(&name, &error))?;
        Self::sort(&name, values)
    }

    fn sort(name: &str, values: Vec<Value>) -> Result<Self, Failure> {
        let mut documents = Self::default();
        let mut ours = Vec::new();
        let values: Vec<Value> = values.into_iter().filter(|value| !value.is_null()).collect();
        let count = values.len();
        for (position, value) in values.into_iter().enumerate() {
            match Kind::of(&value) {
                Ok(Kind::Secret) => documents.secrets.push(value),
                Ok(Kind::Ours) => ours.push(value),
                Ok(Kind::Foreign { title }) => documents.skipped.push(title),
                Err(found) => return Err(fault::no_document(name, found, position + 1, count)),
            }
        }
        for secret in &documents.secrets {
            fault::refuse(name, &title(secret), &fault::in_metadata(secret))?;
        }
        documents.subject = Some(Self::only(name, ours, &documents.skipped)?);
        Ok(documents)
    }

    fn only(name: &str, ours: Vec<Value>, skipped: &[String]) -> Result<Subject, Failure> {
        for value in &ours {
            kind::check(name, value)?;
        }
        let names: Vec<String> = ours.iter().map(title).collect();
        let mut ours = ours.into_iter();
        match (ours.next(), ours.next()) {
            (Some(value), None) => judge(name, value),
            (None, _) => Err(fault::nothing(name, skipped)),
            (Some(_), Some(_)) => {
                let (count, names) = (names.len(), names.join(", "));
                Err(Failure::usage(format!("{name}: {count} things to sync: {names}"))
                    .hint("keep one GatewaySync or SyncProfile per file"))
            }
        }
    }

    /// The `GatewaySync`, if it is one.
    pub(crate) fn gateway_sync(&self) -> Option<&GatewaySync> {
        match &self.subject {
            Some(Subject::GatewaySync(sync)) => Some(sync),
            Some(Subject::SyncProfile(_)) | None => None,
        }
    }

    /// The ref that the file names.
    pub(crate) fn git_ref(&self) -> Option<&str> {
        self.gateway_sync().map(|sync| sync.spec.git.git_ref.as_str())
    }

    /// The name of the `GatewaySync`, for templates.
    pub(crate) fn name(&self) -> Option<String> {
        self.gateway_sync()?.metadata.name.clone()
    }

    /// The commit whose mass deletion is confirmed.
    pub(crate) fn confirmed(&self) -> Option<String> {
        let annotations = self.gateway_sync()?.metadata.annotations.as_ref()?;
        annotations.get(Annotation::AllowMassDelete.as_str()).cloned()
    }

    /// Its namespace, for templates.
    pub(crate) fn namespace(&self) -> Option<String> {
        self.gateway_sync()?.metadata.namespace.clone()
    }
}

fn text_of(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(LARGEST + 1).read_to_string(&mut text)
    } else {
        fs::File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text))
    };
    match read {
        Ok(length) if length as u64 > LARGEST => Err(format!("larger than {LARGEST} bytes")),
        Ok(_) => Ok(text),
        Err(error) => Err(error.to_string()),
    }
}

/// Checks a document as a cluster would, and as strictly about unknown fields.
fn judge(name: &str, mut value: Value) -> Result<Subject, Failure> {
    let title = title(&value);
    let wrong = |error: &dyn std::error::Error| {
        Failure::usage(format!("{name}: {title}: {error}")).hint(format!("fix that in {name}"))
    };
    let violations =
        validation::validate(&as_in_a_cluster(&value)).map_err(|error| wrong(&error))?;
    let violations: Vec<Violation> =
        fault::in_metadata(&value).into_iter().chain(violations).collect();
    fault::refuse(name, &title, &violations)?;
    if value["metadata"].is_null() {
        value["metadata"] = json!({});
    }
    let unreadable = |error: serde_json::Error| wrong(&error);
    if value["kind"] == "SyncProfile" {
        return serde_json::from_value(value).map(Subject::SyncProfile).map_err(unreadable);
    }
    serde_json::from_value(value).map(Subject::GatewaySync).map_err(unreadable)
}

/// The document with what a cluster would insist on and a command line does not.
fn as_in_a_cluster(value: &Value) -> Value {
    let mut value = value.clone();
    if value["metadata"].is_null() {
        value["metadata"] = json!({});
    }
    if value["metadata"].is_object() && value["metadata"]["name"].is_null() {
        value["metadata"]["name"] = json!("unnamed");
    }
    // Flags may name another URL, and lift this rule: it is judged once they are known.
    let is_lifted = value["spec"]["git"].is_object()
        && matches!(value["spec"]["git"]["allowInsecureHTTP"], Value::Null | Value::Bool(_));
    if is_lifted {
        value["spec"]["git"]["allowInsecureHTTP"] = json!(true);
    }
    value
}
