//! `eq`, `ne`, `lt`, `le`, `gt`, `ge`: values of one kind only, as in Go.

use std::cmp::Ordering;

use super::value::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Order {
    /// Returns whether the comparison holds; `eq` holds if any of the others is equal.
    pub(super) fn holds(self, first: &Value<'_>, others: &[Value<'_>]) -> Result<bool, String> {
        for other in others {
            let holds = match self {
                Self::Equal => equal(first, other)?,
                Self::NotEqual => !equal(first, other)?,
                Self::Less => compare(first, other)?.is_lt(),
                Self::LessOrEqual => compare(first, other)?.is_le(),
                Self::Greater => compare(first, other)?.is_gt(),
                Self::GreaterOrEqual => compare(first, other)?.is_ge(),
            };
            if holds {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn equal(left: &Value<'_>, right: &Value<'_>) -> Result<bool, String> {
    match (left, right) {
        (Value::Nil, Value::Nil) => Ok(true),
        (Value::Nil, _) | (_, Value::Nil) => Ok(false),
        (Value::Bool(left), Value::Bool(right)) => Ok(left == right),
        _ => compare(left, right).map(Ordering::is_eq),
    }
}

fn compare(left: &Value<'_>, right: &Value<'_>) -> Result<Ordering, String> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => Ok(left.cmp(right)),
        (Value::Float(left), Value::Float(right)) => Ok(left.total_cmp(right)),
        (Value::Text(left), Value::Text(right)) => Ok((**left).cmp(right)),
        _ => Err(format!("{} and {} can't be compared", left.type_name(), right.type_name())),
    }
}
