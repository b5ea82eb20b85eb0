//! `resource.json`: its signature, and the rewriting that a gateway does when the signature does
//! not fit.

use std::path::Path;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Returns the signature of a resource: SHA-256 over the names and bytes of the files that it
/// lists.
///
/// A real gateway's recipe is not public; what matters to a client is that it changes with the
/// content.
pub fn signature<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> String {
    let mut hash = Sha256::new();
    for (name, bytes) in files {
        hash.update(name.as_bytes());
        hash.update([0]);
        hash.update(bytes);
    }
    hex(&hash.finalize())
}

/// Returns bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('?');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Returns the names that a `resource.json` lists.
pub(crate) fn listed(resource: &Value) -> Vec<&str> {
    resource["files"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Rewrites `resource.json` in `dir` if its signature does not fit; returns whether it did.
pub(crate) fn rewrite(dir: &Path, now_ms: i64) -> std::io::Result<bool> {
    let path = dir.join("resource.json");
    let mut resource: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
    if !resource.is_object() {
        return Ok(false);
    }
    let contents: Vec<(String, Vec<u8>)> = listed(&resource)
        .into_iter()
        .map(|name| Ok((name.to_owned(), std::fs::read(dir.join(name))?)))
        .collect::<std::io::Result<_>>()?;
    let fits = signature(contents.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())));
    if resource["attributes"]["lastModificationSignature"] == fits.as_str() {
        return Ok(false);
    }
    if !resource["attributes"].is_object() {
        resource["attributes"] = Value::Object(Map::new());
    }
    resource["attributes"]["lastModification"] =
        serde_json::json!({"actor": "external", "timestamp": timestamp(now_ms)});
    resource["attributes"]["lastModificationSignature"] = fits.into();
    let temporary = dir.join(".resource.json.rewrite");
    std::fs::write(&temporary, in_own_style(&resource, 0))?;
    std::fs::rename(temporary, path)?;
    Ok(true)
}

/// Prints with neither the order nor the spacing that the file had: a gateway writes its own.
fn in_own_style(value: &Value, depth: usize) -> String {
    let Value::Object(members) = value else { return value.to_string() };
    let mut members: Vec<_> = members.iter().collect();
    members.sort_by(|(left, _), (right, _)| right.cmp(left));
    let indent = "\t".repeat(depth + 1);
    let lines: Vec<String> = members
        .into_iter()
        .map(|(key, value)| {
            format!("{indent}{} : {}", Value::from(key.as_str()), in_own_style(value, depth + 1))
        })
        .collect();
    format!("{{\n{}\n{}}}", lines.join(",\n"), "\t".repeat(depth))
}

fn timestamp(now_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(now_ms)
        .map_or_else(|_| String::new(), |time| time.to_string())
}
