//! One Secret of the file: its keys and values, as the API server reads them.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use crate::failure::Failure;

/// A Secret of the file. Not `Debug`: its values must not be printed.
pub(super) struct ManifestSecret {
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    values: BTreeMap<String, Vec<u8>>,
}

impl ManifestSecret {
    pub(super) fn read(secret: &Value) -> Result<Self, Failure> {
        let text = |field: &str| secret["metadata"][field].as_str().map(str::to_owned);
        let name = text("name").unwrap_or_default();
        let mut values = BTreeMap::new();
        for (field, decode) in [("data", decoded as fn(&str) -> _), ("stringData", plain)] {
            for (key, value) in entries(&name, field, &secret[field])? {
                let value = value.as_str().map_or(Some(Vec::new()), decode);
                let value = value.ok_or_else(|| {
                    Failure::usage(format!("Secret {name}: {field}.{key} is not base64"))
                        .hint("put plain text into stringData instead")
                })?;
                values.insert(key.clone(), value);
            }
        }
        Ok(Self { name, namespace: text("namespace"), values })
    }

    pub(super) fn value(&self, key: &str) -> Option<&[u8]> {
        self.values.get(key).map(Vec::as_slice)
    }

    /// Which keys there are, as the end of a sentence. Names of keys are not secret.
    pub(super) fn keys(&self) -> String {
        let keys: Vec<&str> = self.values.keys().map(String::as_str).collect();
        if keys.is_empty() {
            "nor any other".to_owned()
        } else {
            format!("only {}", keys.join(", "))
        }
    }
}

/// The entries of a map of texts. As in a cluster, a value that is left out is an empty one.
fn entries<'a>(
    name: &str,
    field: &str,
    map: &'a Value,
) -> Result<impl Iterator<Item = (&'a String, &'a Value)>, Failure> {
    let wrong = |place: String, words: &str| {
        Failure::usage(format!("Secret {name}: {place} {words}"))
            .hint(format!("fix {place} of that Secret in the file"))
    };
    if !map.is_null() && !map.is_object() {
        return Err(wrong(field.to_owned(), "must be keys with a text each"));
    }
    let entries = || map.as_object().into_iter().flatten();
    match entries().find(|(_, value)| !value.is_string() && !value.is_null()) {
        Some((key, _)) => {
            Err(wrong(format!("{field}.{key}"), "must be a string: put it in quotes"))
        }
        None => Ok(entries()),
    }
}

/// As in a cluster, lines may be wrapped.
fn decoded(text: &str) -> Option<Vec<u8>> {
    BASE64_STANDARD.decode(text.trim().replace(['\r', '\n'], "")).ok()
}

#[expect(clippy::unnecessary_wraps, reason = "it has the type of `decoded`, which may fail")]
fn plain(text: &str) -> Option<Vec<u8>> {
    Some(text.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_may_be_wrapped_and_nothing_else_may_be_in_it() {
        assert_eq!(decoded("c2Vj\r\ncmV0\n"), Some(b"secret".to_vec()));
        assert_eq!(decoded("c2Vj cmV0"), None);
    }
}
