//! Texts made safe for HTML, JavaScript, URLs and Go source, as Go's functions do.

use std::fmt::Write as _;

pub(super) fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\0' => escaped.push('\u{fffd}'),
            '"' => escaped.push_str("&#34;"),
            '\'' => escaped.push_str("&#39;"),
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            other => escaped.push(other),
        }
    }
    escaped
}

pub(super) fn js(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\\' | '\'' | '"' => escaped.extend(['\\', char]),
            '<' | '>' | '&' | '=' | '\0'..' ' => push_code(&mut escaped, char),
            char if char.is_ascii() || is_printable(char) => escaped.push(char),
            other => push_code(&mut escaped, other),
        }
    }
    escaped
}

pub(super) fn url_query(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' => escaped.push('+'),
            b'-' | b'_' | b'.' | b'~' => escaped.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => escaped.push(char::from(byte)),
            byte => push_formatted(&mut escaped, format_args!("%{byte:02X}")),
        }
    }
    escaped
}

/// Quotes as in Go source; `ascii` escapes everything else, too.
pub(super) fn quoted(text: &str, quote: char, ascii: bool) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push(quote);
    for char in text.chars() {
        match char {
            '\\' => quoted.push_str("\\\\"),
            char if char == quote => quoted.extend(['\\', char]),
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\x0c' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\x0b' => quoted.push_str("\\v"),
            ' '..='~' => quoted.push(char),
            '\0'..='\x1f' | '\x7f' => {
                push_formatted(&mut quoted, format_args!("\\x{:02x}", char as u32));
            }
            char if !ascii && is_printable(char) => quoted.push(char),
            '\u{80}'..='\u{ffff}' => {
                push_formatted(&mut quoted, format_args!("\\u{:04x}", char as u32));
            }
            char => push_formatted(&mut quoted, format_args!("\\U{:08x}", char as u32)),
        }
    }
    quoted.push(quote);
    quoted
}

/// Returns whether Go would print the character as it is: letters, marks, numbers, signs.
fn is_printable(char: char) -> bool {
    // Not the first character, because a mark at the beginning is escaped for another reason.
    let mut pair = ['a'; 2];
    pair[1] = char;
    let text = String::from_iter(pair);
    text.escape_debug().nth(1) == Some(char)
}

fn push_code(text: &mut String, char: char) {
    push_formatted(text, format_args!("\\u{:04X}", char as u32));
}

fn push_formatted(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a String has no way to fail.
    text.write_fmt(arguments).unwrap_or_default();
}
