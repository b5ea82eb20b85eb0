//! Fields of later versions: in the schema, so that they are refused and not silently dropped.
//!
//! A pruned `git.verify` would be a hole: the user believes that signatures are checked. When a
//! field's time comes, it moves from here to a type of its own.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::rule;

/// Fields of `spec` that later versions will have. A GatewaySync that sets one is refused.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(transparent)]
pub struct Reserved(BTreeMap<String, Value>);

/// What values of a reserved field will look like; CEL needs a type to hang the refusal on.
enum Shape {
    Object,
    List,
    Text,
}

const FIELDS: &[(&str, Shape, &str)] = &[
    ("siteNumber", Shape::Text, "the Ignition layout"),
    ("shared", Shape::Object, "the Ignition layout"),
    ("additionalFiles", Shape::List, "the Ignition layout; use a mapping"),
    ("normalize", Shape::Object, "the Ignition layout; use patches"),
    ("ignition", Shape::Object, "the Ignition layout"),
    ("bidirectional", Shape::Object, "changes that go from gateways back to git"),
    ("validation", Shape::Object, "checks before a sync"),
    ("snapshots", Shape::Object, "snapshots"),
    ("rollback", Shape::Object, "rollbacks"),
    ("deployment", Shape::Object, "staged rollouts"),
    ("autoRollback", Shape::Object, "rollbacks after a failure"),
    ("approval", Shape::Object, "approvals"),
    ("rateLimit", Shape::Object, "rate limits"),
    ("alerting", Shape::Object, "alerts"),
    ("inheritsFrom", Shape::Object, "inheritance between GatewaySyncs"),
];

impl Reserved {
    /// Returns the names of the reserved fields that are set, although the schema refuses them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str).filter(|name| Self::is_reserved(name))
    }

    /// Says whether `spec` will have a field of this name in a later version.
    pub fn is_reserved(name: &str) -> bool {
        FIELDS.iter().any(|(reserved, ..)| *reserved == name)
    }

    /// The schema of `git.verify`, the one reserved field that is not directly below `spec`.
    pub(super) fn git_verify(_: &mut SchemaGenerator) -> Schema {
        Shape::Object.schema("git.verify", "the verification of signatures")
    }
}

impl JsonSchema for Reserved {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Reserved".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let fields = FIELDS.iter().map(|(name, shape, purpose)| {
            ((*name).to_owned(), shape.schema(name, purpose).to_value())
        });
        json_schema!({ "type": "object", "properties": fields.collect::<Map<_, _>>() })
    }
}

impl Shape {
    fn schema(&self, name: &str, purpose: &str) -> Schema {
        let mut schema = match self {
            Self::Object => {
                json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
            }
            Self::List => json_schema!({
                "type": "array",
                "items": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            }),
            Self::Text => json_schema!({ "x-kubernetes-int-or-string": true }),
        };
        let text = format!("Reserved for {purpose}. Not supported by this version.");
        schema.insert("description".into(), text.into());
        schema.insert("x-kubernetes-validations".into(), rule::reserved(name));
        schema
    }
}
