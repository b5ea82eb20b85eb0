//! The fields that a template can use.

use std::collections::BTreeMap;

use super::value::{Text, Value};

/// The fields that a template sees, from `.GatewayName` to `.Labels`.
///
/// What a place does not have stays `None`: using it is an error that says so, never an empty text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// `.GatewayName`
    pub gateway_name: Option<String>,
    /// `.PodName`
    pub pod_name: Option<String>,
    /// `.PodOrdinal`
    pub pod_ordinal: Option<i64>,
    /// `.Namespace`
    pub namespace: Option<String>,
    /// `.CRName`
    pub cr_name: Option<String>,
    /// `.Profile`
    pub profile: Option<String>,
    /// `.Ref`
    pub git_ref: Option<String>,
    /// `.Commit`
    pub commit: Option<String>,
    /// `.Vars`
    pub vars: BTreeMap<String, String>,
    /// `.Labels`
    pub labels: Option<BTreeMap<String, String>>,
    /// Further fields, by name.
    pub extra: BTreeMap<String, ContextValue>,
}

/// The value of a further field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContextValue {
    /// A text.
    Text(String),
    /// A whole number.
    Number(i64),
    /// Texts in order.
    List(Vec<String>),
}

impl Context {
    /// Returns the value of a field, or a sentence on why there is none.
    pub(super) fn field(&self, name: &str) -> Result<Value<'_>, String> {
        let (outside_cluster, not_here) = (" outside a cluster", " here");
        let no_ordinal = match self.pod_name {
            Some(_) => ": the name of this pod does not end in a number",
            None => outside_cluster,
        };
        let (value, absence) = match name {
            "GatewayName" => (text(self.gateway_name.as_ref()), not_here),
            "PodName" => (text(self.pod_name.as_ref()), outside_cluster),
            "PodOrdinal" => (self.pod_ordinal.map(Value::Int), no_ordinal),
            "Namespace" => (text(self.namespace.as_ref()), outside_cluster),
            "CRName" => (text(self.cr_name.as_ref()), outside_cluster),
            "Profile" => (text(self.profile.as_ref()), not_here),
            "Ref" => (text(self.git_ref.as_ref()), not_here),
            "Commit" => (text(self.commit.as_ref()), not_here),
            "Vars" => (Some(Value::Map(&self.vars)), not_here),
            "Labels" => (self.labels.as_ref().map(Value::Map), outside_cluster),
            _ => return self.extra_field(name),
        };
        value.ok_or_else(|| format!("`.{name}` is not known{absence}"))
    }

    fn extra_field(&self, name: &str) -> Result<Value<'_>, String> {
        match self.extra.get(name) {
            Some(ContextValue::Text(value)) => Ok(Value::Text(Text::Borrowed(value))),
            Some(ContextValue::Number(value)) => Ok(Value::Int(*value)),
            Some(ContextValue::List(value)) => Ok(Value::List(value)),
            None => Err(format!(
                "there is no field `.{name}`; known are .GatewayName, .PodName, .PodOrdinal, \
                 .Namespace, .CRName, .Profile, .Ref, .Commit, .Vars and .Labels"
            )),
        }
    }
}

fn text(value: Option<&String>) -> Option<Value<'_>> {
    value.map(|text| Value::Text(Text::Borrowed(text)))
}
