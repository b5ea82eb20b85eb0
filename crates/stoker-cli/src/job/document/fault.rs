//! Errors of the `-f` file before its fields are checked. They never quote content, because the
//! file may hold Secrets.

use serde_json::Value;
use serde_saphyr::Error;
use stoker_api::names::API_VERSION;
use stoker_api::validation::Violation;

use crate::failure::Failure;

/// What a file is for, for who gave another.
const EXAMPLE: &str =
    "write the mappings into the file, or use flags: stoker sync --help has examples of both";

/// The file can't be read at all.
pub(super) fn unreadable(name: &str, error: &str) -> Failure {
    let failure = Failure::usage(format!("{name}: {error}"));
    match name {
        "standard input" => failure.hint("pipe YAML into it, or name a file: -f FILE"),
        name => failure.hint(format!("name the file that holds the YAML: ls -l {name}")),
    }
}

/// The file is not YAML. Errors name keys, never values.
pub(super) fn not_yaml(name: &str, error: &Error) -> Failure {
    let place = error.location();
    let place = place.map(|at| format!(" at line {}, column {}", at.line(), at.column()));
    let place = place.unwrap_or_default();
    Failure::usage(format!("{name}: not valid YAML{place}{}", reason(error)))
        .hint(format!("fix it there, in {name}"))
}

fn reason(error: &Error) -> String {
    match error {
        Error::WithSnippet { error, .. } | Error::AliasError { error, .. } => reason(error),
        Error::DuplicateMappingKey { key: Some(key), .. } => format!(": duplicate key {key:?}"),
        Error::DuplicateMappingKey { .. } => ": duplicate key".to_owned(),
        Error::Eof { .. } => ": it ends too early".to_owned(),
        Error::Unexpected { expected, .. } => format!(": expected {expected}"),
        Error::UnknownAnchor { .. } => ": an alias without its anchor".to_owned(),
        // The grammar's own words, which quote nothing.
        Error::ExternalMessage { msg, .. } => format!(": {msg}"),
        _ => String::new(),
    }
}

/// The file has something else where a document should be, at `position` of `count` documents.
pub(super) fn no_document(name: &str, found: &str, position: usize, count: usize) -> Failure {
    let place = if count > 1 { format!("document {position} of {count}: ") } else { String::new() };
    let message =
        format!("{name}: {place}found {found} instead of a document with apiVersion and kind");
    let hint = format!("begin it as for a cluster: apiVersion: {API_VERSION}, kind: GatewaySync");
    Failure::usage(message).hint(hint)
}

/// There is nothing to sync in it.
pub(super) fn nothing(name: &str, skipped: &[String]) -> Failure {
    let others =
        if skipped.is_empty() { String::new() } else { format!(", only {}", skipped.join(", ")) };
    let message =
        format!("{name}: no GatewaySync and no SyncProfile of {API_VERSION} in it{others}");
    Failure::usage(message).hint(EXAMPLE)
}

/// Refuses a document for what is wrong with its fields.
pub(super) fn refuse(name: &str, title: &str, violations: &[Violation]) -> Result<(), Failure> {
    let Some(first) = violations.first() else { return Ok(()) };
    let words: Vec<String> = violations.iter().map(ToString::to_string).collect();
    Err(Failure::usage(format!("{name}: {title}: {}", words.join("; ")))
        .hint(format!("fix {} in {name}", first.field)))
}

/// Names, labels and annotations are texts. The API server says so itself, and our schema leaves it
/// to it.
pub(super) fn in_metadata(value: &Value) -> Vec<Violation> {
    let metadata = &value["metadata"];
    let texts = ["name", "namespace", "generateName", "resourceVersion", "uid"].into_iter();
    let texts = texts.map(|field| (field.to_owned(), &metadata[field]));
    // As in a cluster, what is there and empty counts as absent.
    let texts = texts.filter(|(_, value)| !value.is_null());
    let maps = ["labels", "annotations"].into_iter().flat_map(|field| {
        let entries = metadata[field].as_object().into_iter().flatten();
        entries.map(move |(key, value)| (format!("{field}.{key}"), value))
    });
    let violation = |(field, _)| Violation {
        field: format!("metadata.{field}"),
        message: "must be a string: put it in quotes".into(),
    };
    texts.chain(maps).filter(|(_, value)| !value.is_string()).map(violation).collect()
}
