//! Checks a manifest as the API server would: the schema, then its CEL rules. No cluster needed.
//!
//! For the CLI and for tests. The API server has the last word; what it prunes in silence, an
//! unknown field, is a violation here.

mod schema;

use std::fmt::{self, Display, Formatter};

use kube::core::cel::Validator;
use serde_json::Value;

use crate::crd;

/// One thing that is wrong with a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The field, such as `spec.git.ref`.
    pub field: String,
    /// What is wrong with it, and the remedy.
    pub message: String,
}

/// Why a manifest can't be checked at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "a field is named after what it holds")]
pub enum Error {
    /// The manifest is of another kind.
    #[error(
        "kind {kind:?} of {api_version:?} is neither GatewaySync nor SyncProfile of stoker.io/v1alpha1{}",
        Meant(*.nearest)
    )]
    Kind {
        api_version: String,
        kind: String,
        /// The kind that was probably meant.
        nearest: Option<&'static str>,
    },
}

/// A guess at the end of a message.
struct Meant(Option<&'static str>);

/// The kinds that there are.
const KINDS: [&str; 2] = ["GatewaySync", "SyncProfile"];
/// A kind that differs in more letters was hardly meant.
const FARTHEST: usize = 4;

/// Refuses a manifest of another kind.
pub fn check_kind(manifest: &Value) -> Result<(), Error> {
    let text = |key: &str| manifest[key].as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if api_version == crate::names::API_VERSION && KINDS.contains(&kind.as_str()) {
        return Ok(());
    }
    let distance =
        |known: &str| strsim::damerau_levenshtein(&known.to_lowercase(), &kind.to_lowercase());
    let nearest = KINDS.into_iter().min_by_key(|known| distance(known));
    let nearest = nearest.filter(|known| (1..=FARTHEST).contains(&distance(known)));
    Err(Error::Kind { api_version, kind, nearest })
}

/// Returns everything that is wrong with a manifest, nothing where it is fine.
///
/// The rules are asked only where the schema is met, as in the API server.
pub fn validate(manifest: &Value) -> Result<Vec<Violation>, Error> {
    check_kind(manifest)?;
    let is_sync = manifest["kind"] == "GatewaySync";
    let definition = if is_sync { crd::gateway_sync() } else { crd::sync_profile() };
    let root = crd::schema(&definition);
    let violations = schema::check(&root, manifest);
    if !violations.is_empty() {
        return Ok(violations);
    }
    let Err(errors) = Validator::new().validate(&root, manifest, None) else {
        return Ok(Vec::new());
    };
    let violation = |error: kube::core::cel::ValidationError| Violation {
        field: error.field_path,
        message: error.message,
    };
    Ok(errors.into_vec().into_iter().map(violation).collect())
}

impl Display for Violation {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.field, self.message)
    }
}

impl Display for Meant {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |kind| write!(formatter, "; did you mean {kind:?}?"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_unknown_kind_is_told_with_the_nearest() {
        let told = |kind: &str| {
            let manifest = json!({ "apiVersion": crate::names::API_VERSION, "kind": kind });
            check_kind(&manifest).map_err(|error| error.to_string())
        };
        assert_eq!(told("GatewaySync"), Ok(()));
        assert!(told("Gateway").unwrap_err().ends_with("did you mean \"GatewaySync\"?"));
        assert!(told("syncprofil").unwrap_err().ends_with("did you mean \"SyncProfile\"?"));
        assert!(told("Widget").unwrap_err().ends_with("of stoker.io/v1alpha1"));
    }
}
