//! What is wrong with a file before its fields are looked at: said without a word of its content,
//! for it may hold Secrets.

use serde_json::Value;
use serde_saphyr::Error;
use stoker_api::validation::Violation;

use crate::failure::Failure;

/// The file can't be read at all.
pub(super) fn unreadable(name: &str, error: &str) -> Failure {
    let failure = Failure::usage(format!("{name}: {error}"));
    match name {
        "standard input" => failure.hint("pipe YAML into it, or name a file: -f FILE"),
        name => failure.hint(format!("name the file that holds the YAML: ls -l {name}")),
    }
}

/// The file is no YAML. Names of keys are told, values never.
pub(super) fn not_yaml(name: &str, error: &Error) -> Failure {
    let place = error.location();
    let place = place.map(|at| format!(" at line {}, column {}", at.line(), at.column()));
    let place = place.unwrap_or_default();
    Failure::usage(format!("{name}: not valid YAML{place}{}", reason(error)))
        .hint(format!("mend it there, in {name}"))
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

/// Labels and annotations are texts. The API server says so itself, and our schema leaves it to it.
pub(super) fn in_metadata(value: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    for field in ["labels", "annotations"] {
        let entries = value["metadata"][field].as_object().into_iter().flatten();
        for (key, _) in entries.filter(|(_, value)| !value.is_string()) {
            let field = format!("metadata.{field}.{key}");
            found.push(Violation { field, message: "must be a string: put it in quotes".into() });
        }
    }
    found
}
