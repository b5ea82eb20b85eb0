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
pub enum Error {
    /// The manifest is of another kind.
    #[error(
        "kind {kind:?} of {api_version:?} is neither GatewaySync nor SyncProfile of stoker.io/v1alpha1"
    )]
    Kind {
        /// The manifest's `apiVersion`.
        api_version: String,
        /// The manifest's `kind`.
        kind: String,
    },
}

/// Returns everything that is wrong with a manifest, nothing where it is fine.
///
/// The rules are asked only where the schema is met, as in the API server.
pub fn validate(manifest: &Value) -> Result<Vec<Violation>, Error> {
    let text = |key: &str| manifest[key].as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let definition = match (api_version.as_str(), kind.as_str()) {
        (crate::names::API_VERSION, "GatewaySync") => crd::gateway_sync(),
        (crate::names::API_VERSION, "SyncProfile") => crd::sync_profile(),
        _ => return Err(Error::Kind { api_version, kind }),
    };
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
