//! Numbers and quoted texts, as Go writes them.

use super::tree::Term;

/// Reads a number: decimal, hexadecimal, octal, binary, with underscores, or with a fraction.
pub(super) fn number(text: &str) -> Result<Term, String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, body) = radix(&lower);
    let misplaced = body.starts_with('_') && radix == 10
        || body.ends_with('_')
        || body.contains("__")
        || body.is_empty();
    let body = body.replace('_', "");
    let fault = || format!("{text:?} is not a number that templates know");
    if misplaced {
        return Err(fault());
    }
    if radix == 10 && body.contains(['.', 'e']) {
        let value: f64 = format!("{sign}{body}").parse().map_err(|_| fault())?;
        return if value.is_finite() { Ok(Term::Float(value)) } else { Err(fault()) };
    }
    if !body.chars().all(|char| char.is_digit(radix)) {
        return Err(fault());
    }
    i64::from_str_radix(&format!("{sign}{body}"), radix)
        .map(Term::Int)
        .map_err(|_| format!("{text:?} is too large for an integer"))
}

fn radix(digits: &str) -> (u32, &str) {
    for (prefix, radix) in [("0x", 16), ("0b", 2), ("0o", 8)] {
        if let Some(body) = digits.strip_prefix(prefix) {
            return (radix, body);
        }
    }
    match digits.strip_prefix('0') {
        Some(body) if !body.is_empty() && !digits.contains(['.', 'e']) => (8, body),
        _ => (10, digits),
    }
}

pub(super) fn quoted(text: &str) -> Result<String, String> {
    let inside = text.get(1..text.len() - 1).unwrap_or_default();
    let mut chars = inside.chars();
    let mut value = String::with_capacity(inside.len());
    while let Some(char) = chars.next() {
        value.push(if char == '\\' { escape(&mut chars, '"')? } else { char });
    }
    Ok(value)
}

/// Reads a text in backquotes, which has no escapes; carriage returns are not part of it.
pub(super) fn raw(text: &str) -> String {
    text.get(1..text.len() - 1).unwrap_or_default().replace('\r', "")
}

/// Reads a character in single quotes, which is a number.
pub(super) fn character(text: &str) -> Result<Term, String> {
    let mut chars = text.get(1..text.len() - 1).unwrap_or_default().chars();
    let value = match chars.next() {
        Some('\\') => escape(&mut chars, '\'')?,
        Some(char) => char,
        None => return Err("a character in single quotes can't be empty".to_owned()),
    };
    if chars.next().is_some() {
        return Err(format!("{text} is more than one character; texts take double quotes"));
    }
    Ok(Term::Int(i64::from(u32::from(value))))
}

fn escape(chars: &mut std::str::Chars<'_>, quote: char) -> Result<char, String> {
    let kind = chars.next().unwrap_or_default();
    let (radix, length, first) = match kind {
        'a' => return Ok('\x07'),
        'b' => return Ok('\x08'),
        'f' => return Ok('\x0c'),
        'n' => return Ok('\n'),
        'r' => return Ok('\r'),
        't' => return Ok('\t'),
        'v' => return Ok('\x0b'),
        '\\' => return Ok('\\'),
        char if char == quote => return Ok(quote),
        'x' => (16, 2, 0),
        'u' => (16, 4, 0),
        'U' => (16, 8, 0),
        '0'..='7' => (8, 2, kind.to_digit(8).unwrap_or_default()),
        other => return Err(format!("unknown escape \\{other}")),
    };
    let mut code = first;
    for _ in 0..length {
        let digit = chars.next().and_then(|char| char.to_digit(radix));
        let digit = digit.ok_or_else(|| format!("the escape \\{kind} is not complete"))?;
        code = code.checked_mul(radix).map_or(u32::MAX, |code| code | digit);
    }
    // In Go these name a byte; above ASCII that would be half a character.
    if matches!(kind, 'x' | '0'..='7') && code > 0x7f {
        return Err("an escaped byte above 7f is not a character; use \\u".to_owned());
    }
    char::from_u32(code).ok_or_else(|| format!("the escape \\{kind} names no character"))
}
