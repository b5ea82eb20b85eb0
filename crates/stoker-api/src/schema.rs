//! Pieces of schema that no derive gives, each with the bounds that keep CEL within its budget.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::gatewaysync::Profile;
use crate::limit;
use crate::rule;

pub(crate) fn profiles(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": limit::PROFILES,
        "additionalProperties": Profile::json_schema(generator),
        "x-kubernetes-validations": rule::profile_names(),
    })
}

pub(crate) fn globs(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": limit::EXCLUDES,
        "x-kubernetes-list-type": "atomic",
        "items": {
            "type": "string",
            "minLength": 1,
            "maxLength": limit::PATH,
            "x-kubernetes-validations": rule::glob(),
        },
    })
}

pub(crate) fn vars(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": limit::VARS,
        "additionalProperties": { "type": "string", "maxLength": limit::VAR_VALUE },
        "x-kubernetes-validations": rule::var_keys(),
    })
}

pub(crate) fn patch_set(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "minProperties": 1,
        "maxProperties": limit::SET_ENTRIES,
        "additionalProperties": { "type": "string", "maxLength": limit::SET_VALUE },
        "x-kubernetes-validations": rule::patch_set(),
    })
}

pub(crate) fn quantities(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 8,
        "additionalProperties": {
            "x-kubernetes-int-or-string": true,
            "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
        },
    })
}

pub(crate) fn projects(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        // One more than the cap: the last one may say how many were left out.
        "maxItems": limit::REPORT_PROJECTS + 1,
        "x-kubernetes-list-type": "atomic",
        "items": { "type": "string" },
    })
}

pub(crate) fn time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "date-time" })
}

pub(crate) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 32,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "description": "One aspect of the state of this object.",
            "required": ["type", "status", "lastTransitionTime", "reason", "message"],
            "properties": {
                "type": {
                    "type": "string",
                    "maxLength": 316,
                    "description": "The condition, such as Ready.",
                },
                "status": {
                    "type": "string",
                    "enum": ["True", "False", "Unknown"],
                    "description": "Whether it holds: True, False or Unknown.",
                },
                "observedGeneration": {
                    "type": "integer",
                    "format": "int64",
                    "minimum": 0,
                    "description": "The generation of the spec that this condition speaks of.",
                },
                "lastTransitionTime": {
                    "type": "string",
                    "format": "date-time",
                    "description": "When the status last changed.",
                },
                "reason": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 1024,
                    "description": "Why, in one word for scripts.",
                },
                "message": {
                    "type": "string",
                    "maxLength": 32768,
                    "description": "Why, in a sentence for people.",
                },
            },
        },
    })
}

pub(crate) fn label_selector(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "matchLabels": {
                "type": "object",
                "maxProperties": 32,
                "description": "Labels with exactly these values.",
                "additionalProperties": { "type": "string", "maxLength": 63 },
            },
            "matchExpressions": {
                "type": "array",
                "maxItems": 32,
                "x-kubernetes-list-type": "atomic",
                "description": "Requirements that all must hold.",
                "items": {
                    "type": "object",
                    "description": "A requirement.",
                    "required": ["key", "operator"],
                    "properties": {
                        "key": {
                            "type": "string",
                            "maxLength": 317,
                            "description": "The key of the label.",
                        },
                        "operator": {
                            "type": "string",
                            "enum": ["In", "NotIn", "Exists", "DoesNotExist"],
                            "description": "How the label relates to the values.",
                        },
                        "values": {
                            "type": "array",
                            "maxItems": 64,
                            "x-kubernetes-list-type": "atomic",
                            "description": "The values, for In and NotIn.",
                            "items": { "type": "string", "maxLength": 63 },
                        },
                    },
                },
            },
        },
    })
}
