//! Secrets that came in the `-f` file: served as files that exist in memory only.

use std::collections::BTreeMap;
use std::path::PathBuf;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use stoker_api::gatewaysync::ResolvedSecretRef;
use stoker_git::memfile::MemFile;

use super::document::Documents;
use crate::failure::Failure;

/// The values of all Secrets of a file, and those that were asked for as files.
#[derive(Default)]
pub(crate) struct Secrets {
    values: BTreeMap<(String, String), Vec<u8>>,
    served: Vec<MemFile>,
}

/// How many, never which.
impl std::fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Secrets").field("count", &self.values.len()).finish_non_exhaustive()
    }
}

/// What a reference is for: the field that has it, and the flag that can stand in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Need {
    /// The field of the `GatewaySync`.
    pub(crate) field: &'static str,
    /// The flag that gives the same by file.
    pub(crate) flag: &'static str,
}

impl Secrets {
    /// Takes the Secrets of a file.
    pub(crate) fn new(documents: &Documents) -> Result<Self, Failure> {
        let mut values = BTreeMap::new();
        let own = documents.namespace();
        let is_near = |secret: &&Value| {
            // As in a cluster: a reference reaches no other namespace.
            let there = secret["metadata"]["namespace"].as_str();
            there.is_none_or(|there| own.as_deref().unwrap_or("default") == there)
        };
        for secret in documents.secrets.iter().filter(is_near) {
            let name = secret["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            for (key, value) in entries(&secret["data"]) {
                let bytes = BASE64_STANDARD.decode(value.trim()).map_err(|_| {
                    Failure::usage(format!("Secret {name}: data.{key} is not base64"))
                        .hint("put plain text into stringData instead")
                })?;
                values.insert((name.clone(), key), bytes);
            }
            for (key, value) in entries(&secret["stringData"]) {
                values.insert((name.clone(), key), value.into_bytes());
            }
        }
        Ok(Self { values, served: Vec::new() })
    }

    /// Serves a reference: by the flag's file if there is one, else from the file's own Secrets.
    pub(crate) fn serve(
        &mut self,
        reference: &ResolvedSecretRef,
        by_flag: Option<&PathBuf>,
        need: Need,
    ) -> Result<PathBuf, Failure> {
        if let Some(path) = by_flag {
            return Ok(path.clone());
        }
        let ResolvedSecretRef { name, key } = reference;
        let Some(value) = self.values.get(&(name.clone(), key.clone())) else {
            let message = format!("{}: nothing serves Secret {name}, key {key}", need.field);
            let hint = format!("add {} FILE, or a Secret {name} to the file", need.flag);
            return Err(Failure::usage(message).hint(hint));
        };
        let file = MemFile::new(value)
            .map_err(|error| Failure::usage(format!("{}: {error}", need.field)))?;
        let path = file.path();
        self.served.push(file);
        Ok(path)
    }
}

fn entries(map: &Value) -> impl Iterator<Item = (String, String)> {
    let entries = map.as_object().into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
}
