//! Go's built-in functions. There are no others: nothing here reaches outside the template.

use super::compare;
use super::escape;
use super::format;
use super::value::{Text, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    And,
    Or,
    Not,
    Len,
    Index,
    Slice,
    Print,
    Printf,
    Println,
    Html,
    Js,
    Urlquery,
    Compare(compare::Order),
    Call,
}

/// How many arguments a function takes: at least, and at most.
type Arity = (usize, usize);

impl Function {
    pub(super) fn named(name: &str) -> Option<Self> {
        use compare::Order;
        Some(match name {
            "and" => Self::And,
            "or" => Self::Or,
            "not" => Self::Not,
            "len" => Self::Len,
            "index" => Self::Index,
            "slice" => Self::Slice,
            "print" => Self::Print,
            "printf" => Self::Printf,
            "println" => Self::Println,
            "html" => Self::Html,
            "js" => Self::Js,
            "urlquery" => Self::Urlquery,
            "eq" => Self::Compare(Order::Equal),
            "ne" => Self::Compare(Order::NotEqual),
            "lt" => Self::Compare(Order::Less),
            "le" => Self::Compare(Order::LessOrEqual),
            "gt" => Self::Compare(Order::Greater),
            "ge" => Self::Compare(Order::GreaterOrEqual),
            "call" => Self::Call,
            _ => return None,
        })
    }

    /// Returns whether this argument settles the result, so that later ones are not evaluated.
    pub(super) fn is_decided_by(self, value: &Value<'_>) -> bool {
        match self {
            Self::And => !value.is_true(),
            Self::Or => value.is_true(),
            _ => false,
        }
    }

    /// Calls the function; no text that it makes is longer than `limit`.
    pub(super) fn call<'a>(
        self,
        arguments: &[Value<'a>],
        limit: usize,
    ) -> Result<Value<'a>, String> {
        let (least, most) = self.arity();
        if arguments.len() < least || arguments.len() > most {
            return Err(format!("the function takes other than {} argument(s)", arguments.len()));
        }
        match (self, arguments) {
            (Self::And | Self::Or, [.., value]) => Ok(value.clone()),
            (Self::Not, [value]) => Ok(Value::Bool(!value.is_true())),
            (Self::Len, [value]) => length(value),
            (Self::Index, [value, keys @ ..]) => keys.iter().try_fold(value.clone(), index),
            (Self::Slice, [value, bounds @ ..]) => slice(value, bounds),
            (Self::Print, values) => format::print(values).map(Value::made),
            (Self::Println, values) => format::println(values).map(Value::made),
            (Self::Printf, [Value::Text(format), values @ ..]) => {
                format::format(format, values, limit).map(Value::made)
            }
            (Self::Printf, _) => Err("printf needs a text with its format first".to_owned()),
            (Self::Html, values) => {
                format::print(values).map(|text| Value::made(escape::html(&text)))
            }
            (Self::Js, values) => format::print(values).map(|text| Value::made(escape::js(&text))),
            (Self::Urlquery, values) => {
                format::print(values).map(|text| Value::made(escape::url_query(&text)))
            }
            (Self::Compare(order), [first, others @ ..]) => {
                order.holds(first, others).map(Value::Bool)
            }
            _ => Err("there is nothing that can be called".to_owned()),
        }
    }

    fn arity(self) -> Arity {
        match self {
            Self::Not | Self::Len => (1, 1),
            Self::Slice => (1, 4),
            Self::And | Self::Or | Self::Index | Self::Printf | Self::Call => (1, usize::MAX),
            Self::Print | Self::Println | Self::Html | Self::Js | Self::Urlquery => (0, usize::MAX),
            Self::Compare(compare::Order::Equal) => (2, usize::MAX),
            Self::Compare(_) => (2, 2),
        }
    }
}

fn length<'a>(value: &Value<'a>) -> Result<Value<'a>, String> {
    let length = match value {
        Value::Text(text) => text.len(),
        Value::List(list) => list.len(),
        Value::Map(map) => map.len(),
        other => return Err(format!("{} has no length", other.described())),
    };
    i64::try_from(length).map(Value::Int).map_err(|_| "the length is too large".to_owned())
}

fn index<'a>(value: Value<'a>, key: &Value<'a>) -> Result<Value<'a>, String> {
    match (value, key) {
        // An absent key is the zero value: this is how a template asks for an optional variable.
        (Value::Map(map), Value::Text(key)) => {
            Ok(Value::Text(Text::Borrowed(map.get(&**key).map_or("", String::as_str))))
        }
        (Value::List(list), Value::Int(_)) => {
            let at = bound(key, list.len())?;
            list.get(at)
                .map(|text| Value::Text(Text::Borrowed(text)))
                .ok_or_else(|| format!("the index {at} is out of range"))
        }
        (Value::Text(text), Value::Int(_)) => {
            let at = bound(key, text.len())?;
            text.as_bytes()
                .get(at)
                .map(|byte| Value::Int(i64::from(*byte)))
                .ok_or_else(|| format!("the index {at} is out of range"))
        }
        (value, key) => {
            Err(format!("{} has no index of type {}", value.described(), key.type_name()))
        }
    }
}

fn slice<'a>(value: &Value<'a>, bounds: &[Value<'a>]) -> Result<Value<'a>, String> {
    let length = match value {
        Value::Text(_) if bounds.len() == 3 => {
            return Err("a slice of a text has two bounds at most".to_owned());
        }
        Value::Text(text) => text.len(),
        Value::List(list) => list.len(),
        other => return Err(format!("{} can't be sliced", other.described())),
    };
    let start = bounds.first().map_or(Ok(0), |at| bound(at, length))?;
    let end = bounds.get(1).map_or(Ok(length), |at| bound(at, length))?;
    if let Some(capacity) = bounds.get(2).map(|at| bound(at, length)).transpose()?
        && end > capacity
    {
        return Err(format!("the slice bounds {end} and {capacity} are the wrong way round"));
    }
    if start > end {
        return Err(format!("the slice bounds {start} and {end} are the wrong way round"));
    }
    match value {
        Value::Text(text) => text
            .get(start..end)
            .map(|part| Value::made(part.to_owned()))
            .ok_or_else(|| format!("the bounds {start} and {end} cut a character in two")),
        Value::List(list) => Ok(Value::List(list.get(start..end).unwrap_or_default())),
        other => Err(format!("{} can't be sliced", other.described())),
    }
}

/// Reads an index that may be as large as the length.
fn bound(value: &Value<'_>, length: usize) -> Result<usize, String> {
    match value {
        Value::Int(at) => usize::try_from(*at)
            .ok()
            .filter(|at| *at <= length)
            .ok_or_else(|| format!("the index {at} is out of range")),
        other => Err(format!("an index is a whole number, not {}", other.described())),
    }
}
