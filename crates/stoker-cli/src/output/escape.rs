//! Results as text that no terminal takes for a command, and no reader for another name.
//!
//! Whatever reads JSON or YAML gets the very strings back.

use std::fmt::Write as _;

use serde::Serialize;

/// One line of JSON.
pub(super) fn json(value: &impl Serialize) -> Result<String, String> {
    let text = serde_json::to_string(value).map_err(|error| error.to_string())?;
    // Such characters stand within strings only, and never behind a backslash.
    Ok(if text.contains(is_harmful) { escaped(&text) } else { text })
}

/// YAML; where it would have to have harmful characters in it, its JSON form.
pub(super) fn yaml(value: &impl Serialize) -> Result<String, String> {
    let text = serde_saphyr::to_string(value).map_err(|error| error.to_string())?;
    if text.contains(is_harmful) { json(value) } else { Ok(text) }
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        if is_harmful(char) {
            write!(safe, "\\u{:04x}", u32::from(char)).ok();
        } else {
            safe.push(char);
        }
    }
    safe
}

/// Whether a character is a command to a terminal, or changes the order in which others are read.
fn is_harmful(char: char) -> bool {
    match char {
        '\n' => false,
        '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => char.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "a\u{7f}\u{80}\u{9b}31m\u{9f}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}\n\t\u{1b}\\\u{202e}\"é";

    #[test]
    fn what_is_harmful_is_escaped_and_reads_as_it_was() {
        for text in [json(&[NAME]).unwrap(), yaml(&[NAME]).unwrap()] {
            assert!(!text.contains(is_harmful) && text.contains('é'), "{text:?}");
            assert_eq!(serde_saphyr::from_str::<Vec<String>>(&text).unwrap(), [NAME]);
        }
        assert_eq!(serde_json::from_str::<Vec<String>>(&json(&[NAME]).unwrap()).unwrap(), [NAME]);
        assert!(json(&["\u{7f}\u{9b}\u{202e}"]).unwrap().contains(r"\u007f\u009b\u202e"));
        assert_eq!(yaml(&["plain"]).unwrap(), "- plain\n");
    }
}
