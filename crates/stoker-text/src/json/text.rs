//! JSON strings: from their written form, and into it.

/// Writes a text as a JSON string, with as few escapes as JSON allows.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns whether a valid JSON string, quotes included, means this text.
pub(super) fn means(raw: &[u8], text: &str) -> bool {
    if raw.contains(&b'\\') {
        return unquoted(raw) == text;
    }
    // Nearly all names are written as they are, and need no decoding.
    raw.strip_prefix(b"\"").and_then(|raw| raw.strip_suffix(b"\"")) == Some(text.as_bytes())
}

/// Reads a JSON string that was found valid, quotes included; half a surrogate pair becomes U+FFFD.
pub(super) fn unquoted(raw: &[u8]) -> String {
    let text = std::str::from_utf8(raw).unwrap_or_default();
    let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    if !inside.contains('\\') {
        return inside.to_owned();
    }
    let mut units = Vec::with_capacity(inside.len());
    let mut rest = inside;
    while let Some(char) = rest.chars().next() {
        let (char, used) = if char == '\\' { escaped(rest) } else { (Ok(char), char.len_utf8()) };
        match char {
            Ok(char) => units.extend_from_slice(char.encode_utf16(&mut [0; 2])),
            Err(unit) => units.push(unit),
        }
        rest = rest.get(used..).unwrap_or_default();
    }
    String::from_utf16_lossy(&units)
}

/// Reads an escape: the character or the UTF-16 unit it stands for, and its length.
fn escaped(rest: &str) -> (Result<char, u16>, usize) {
    let char = match rest.as_bytes().get(1) {
        Some(b'b') => '\x08',
        Some(b'f') => '\x0c',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => {
            let digits = rest.get(2..6).unwrap_or_default();
            return (Err(u16::from_str_radix(digits, 16).unwrap_or(0xfffd)), 6);
        }
        Some(other) => char::from(*other),
        None => '\\',
    };
    (Ok(char), 2)
}
