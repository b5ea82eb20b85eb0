//! `print`, `println`, and what an action leaves in the output.

use super::format::{Spec, plain};
use super::value::Value;

/// Prints one value, as an action does.
pub(super) fn value(value: &Value<'_>) -> Result<String, String> {
    match value {
        Value::Nil => Err("there is no value to print".to_owned()),
        other => plain(other, 'v', &Spec::default()),
    }
}

/// Prints values with a blank between two that are no texts.
pub(super) fn all(values: &[Value<'_>]) -> Result<String, String> {
    let mut text = String::new();
    let mut after_text = true;
    for value in values {
        let is_text = matches!(value, Value::Text(_));
        if !after_text && !is_text {
            text.push(' ');
        }
        text.push_str(&plain(value, 'v', &Spec::default())?);
        after_text = is_text;
    }
    Ok(text)
}

/// Prints values with blanks between them and a newline.
pub(super) fn line(values: &[Value<'_>]) -> Result<String, String> {
    let texts: Vec<_> =
        values.iter().map(|value| plain(value, 'v', &Spec::default())).collect::<Result<_, _>>()?;
    Ok(texts.join(" ") + "\n")
}
