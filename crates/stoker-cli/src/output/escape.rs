//! Escapes results, so that a terminal does not run them as commands and two names never look
//! alike.
//!
//! Readers of JSON and YAML get the original strings. In text, bytes are quoted as git quotes them.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;

use serde::Serialize;

/// Text of several lines.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    quoted(text, is_harmful)
}

/// Text of one line: a line break in it came with a name, and would make two of it.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    quoted(text, |char| char == '\n' || is_harmful(char))
}

/// A word of a command line, for a parser that repeats in its messages what it was given.
pub(crate) fn word(word: &OsStr) -> OsString {
    let mut safe = String::with_capacity(word.len());
    for chunk in word.as_encoded_bytes().utf8_chunks() {
        safe.push_str(&line(chunk.valid()));
        for byte in chunk.invalid() {
            write!(safe, "\\{byte:03o}").ok();
        }
    }
    safe.into()
}

pub(super) fn json(value: &impl Serialize) -> Result<String, String> {
    let text = serde_json::to_string(value).map_err(|error| error.to_string())?;
    // Such characters occur only within strings, and never after a backslash.
    Ok(if text.contains(is_harmful) { escaped(&text) } else { text })
}

/// YAML; where it would have to have harmful characters in it, its JSON form.
pub(super) fn yaml(value: &impl Serialize) -> Result<String, String> {
    let text = serde_saphyr::to_string(value).map_err(|error| error.to_string())?;
    if text.contains(is_harmful) { json(value) } else { Ok(text) }
}

fn quoted(text: &str, is_meant: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_meant) {
        return text.into();
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        match char {
            _ if !is_meant(char) => safe.push(char),
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            _ => {
                for byte in char.encode_utf8(&mut [0; 4]).bytes() {
                    write!(safe, "\\{byte:03o}").ok();
                }
            }
        }
    }
    safe.into()
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

    #[test]
    fn text_is_escaped_as_git_quotes_names() {
        let odd = "a\u{1b}[31m\r\t\u{9b}\u{202e}\\\"é\nb";
        assert_eq!(line(odd), r#"a\033[31m\r\t\302\233\342\200\256\"é\nb"#);
        assert_eq!(text(odd), "a\\033[31m\\r\\t\\302\\233\\342\\200\\256\\\"é\nb");
        assert!(matches!(text("as it is\n"), Cow::Borrowed(_)));
    }
}
