//! Assertions about the JSON result of a run.

use serde_json::Value;

use super::world::Run;

/// Every key that scripts rely on.
pub(crate) const KEYS: [&str; 19] = [
    "status",
    "ref",
    "resolvedRef",
    "commit",
    "previousCommit",
    "filesAdded",
    "filesModified",
    "filesDeleted",
    "filesUnchanged",
    "added",
    "modified",
    "deleted",
    "truncated",
    "bytesWritten",
    "projects",
    "scan",
    "durationsMs",
    "warnings",
    "error",
];

#[track_caller]
pub(crate) fn has_every_key(result: &Value) {
    for key in KEYS {
        assert!(result.get(key).is_some(), "no {key} in {result:#}");
    }
    for phase in ["resolve", "fetch", "plan", "apply", "gateway", "total"] {
        let time = &result["durationsMs"][phase];
        assert!(time.is_u64(), "durationsMs.{phase} is {time}");
    }
    for half in ["projects", "config"] {
        let word = result["scan"][half].as_str().unwrap_or_default();
        assert!(["done", "skipped", "failed", "owed"].contains(&word), "scan.{half} is {word:?}");
    }
    let error = &result["error"];
    if !error.is_null() {
        assert!(error["reason"].is_string() && error["message"].is_string(), "{error}");
        assert!(error.get("hint").is_some(), "no error.hint in {error}");
    }
}

/// Claims exit code, reason and words of an error, and that its hint is a thing to do.
#[track_caller]
pub(crate) fn refused(run: Run, code: i32, reason: &str, words: &[&str]) {
    let run = run.exits(code);
    let result = run.json();
    has_every_key(&result);
    let error = &result["error"];
    let text = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
    assert_eq!(text("reason"), reason, "{error:#}");
    for word in words {
        assert!(text("message").contains(word), "no {word:?} in {error:#}");
    }
    assert!(!text("hint").is_empty(), "no hint: {error:#}");
    assert_eq!(result["status"], "failed");
}
