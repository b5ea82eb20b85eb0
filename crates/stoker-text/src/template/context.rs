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

/// Why a field has no value.
#[derive(Clone, Copy)]
enum Absence {
    OutsideCluster,
    NoOrdinal,
    NotHere,
}

impl Context {
    /// Returns the value of a field, or a sentence on why there is none.
    pub(super) fn field(&self, name: &str) -> Result<Value<'_>, String> {
        use Absence::{NotHere, OutsideCluster};
        let no_ordinal = if self.pod_name.is_some() { Absence::NoOrdinal } else { OutsideCluster };
        let (value, absence) = match name {
            "GatewayName" => (text(self.gateway_name.as_ref()), NotHere),
            "PodName" => (text(self.pod_name.as_ref()), OutsideCluster),
            "PodOrdinal" => (self.pod_ordinal.map(Value::Int), no_ordinal),
            "Namespace" => (text(self.namespace.as_ref()), OutsideCluster),
            "CRName" => (text(self.cr_name.as_ref()), OutsideCluster),
            "Profile" => (text(self.profile.as_ref()), NotHere),
            "Ref" => (text(self.git_ref.as_ref()), NotHere),
            "Commit" => (text(self.commit.as_ref()), NotHere),
            "Vars" => (Some(Value::Map(&self.vars)), NotHere),
            "Labels" => (self.labels.as_ref().map(Value::Map), OutsideCluster),
            _ => return self.extra_field(name),
        };
        value.ok_or_else(|| absence.sentence(name))
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

impl Absence {
    fn sentence(self, name: &str) -> String {
        match self {
            Self::OutsideCluster => format!("`.{name}` is not known outside a cluster"),
            Self::NoOrdinal => {
                format!("`.{name}` is not known: the name of this pod does not end in a number")
            }
            Self::NotHere => format!("`.{name}` is not known here"),
        }
    }
}

fn text(value: Option<&String>) -> Option<Value<'_>> {
    value.map(|text| Value::Text(Text::Borrowed(text)))
}
