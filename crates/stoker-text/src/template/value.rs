//! The values that templates compute with: a closed set with Go's type names.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::rc::Rc;

/// A value during rendering. Collections only ever come from the context, so they are borrowed.
#[derive(Clone, Debug)]
pub(super) enum Value<'a> {
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Text<'a>),
    List(&'a [String]),
    Map(&'a BTreeMap<String, String>),
    Context,
}

/// A text from the context or the template, or one that was made while rendering.
#[derive(Clone, Debug)]
pub(super) enum Text<'a> {
    Borrowed(&'a str),
    Made(Rc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Made(text) => text,
        }
    }
}

impl Value<'_> {
    pub(super) fn made(text: String) -> Self {
        Self::Text(Text::Made(text.into()))
    }

    /// Returns the name that Go gives the type.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float64",
            Self::Text(_) => "string",
            Self::List(_) => "[]string",
            Self::Map(_) => "map[string]string",
            Self::Context => "the whole context",
        }
    }

    pub(super) fn described(&self) -> String {
        match self {
            Self::Context => self.type_name().to_owned(),
            _ => format!("a value of type {}", self.type_name()),
        }
    }

    /// Returns whether `if` takes the value for a yes: anything but zero, empty and nil.
    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::Nil => false,
            Self::Bool(value) => *value,
            Self::Int(value) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::List(list) => !list.is_empty(),
            Self::Map(map) => !map.is_empty(),
            Self::Context => true,
        }
    }

    /// Returns the value that a name after a dot stands for, where that does not need the context.
    pub(super) fn member(&self, name: &str) -> Result<Self, String> {
        match self {
            Self::Map(map) => map
                .get(name)
                .map(|text| Self::Text(Text::Borrowed(text)))
                .ok_or_else(|| format!("there is no key {name:?}")),
            other => Err(format!("{} has no field `.{name}`", other.described())),
        }
    }
}
