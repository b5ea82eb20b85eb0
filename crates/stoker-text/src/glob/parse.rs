//! Pattern text to matching programs: validate, expand the braces, read the tokens.

use super::machine::{Class, Program, Token};
use super::{GlobFault, MAX_PATTERN, expand};

/// A fault and its byte offset in the pattern.
pub(super) type Fault = (usize, GlobFault);

pub(super) fn programs(pattern: &str) -> Result<Vec<Program>, Fault> {
    if pattern.len() > MAX_PATTERN {
        return Err((0, GlobFault::TooLong));
    }
    validate(pattern)?;
    expand::alternatives(pattern)?
        .iter()
        // The offset within one alternative means nothing to the reader of the whole pattern.
        .map(|text| tokens(text).map(Program::new).map_err(|(_, fault)| (0, fault)))
        .collect()
}

/// Checks the whole pattern, also the parts that no path would ever reach.
fn validate(pattern: &str) -> Result<(), Fault> {
    let bytes = pattern.as_bytes();
    let mut open = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if at + 1 == bytes.len() => return Err((at, GlobFault::DanglingEscape)),
            b'\\' => at += 1,
            b'[' => at = class_end(bytes, at)?,
            b'{' => open.push(at),
            b'}' if open.pop().is_none() => return Err((at, GlobFault::StrayBrace)),
            _ => {}
        }
        at += 1;
    }
    open.pop().map_or(Ok(()), |at| Err((at, GlobFault::UnclosedAlternatives)))
}

/// Returns the offset of the bracket that closes the class opened at `start`.
pub(super) fn class_end(bytes: &[u8], start: usize) -> Result<usize, Fault> {
    let mut at = start + 1;
    if matches!(bytes.get(at), Some(b'!' | b'^')) {
        at += 1;
    }
    if bytes.get(at) == Some(&b']') {
        return Err((start, GlobFault::EmptyClass));
    }
    while let Some(byte) = bytes.get(at) {
        match byte {
            b']' => return Ok(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    Err((start, GlobFault::UnclosedClass))
}

/// Reads one alternative, which has no braces left but escaped ones.
fn tokens(text: &str) -> Result<Vec<Token>, Fault> {
    let mut tokens = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (token, used) = match first {
            '*' => star(rest, at_segment_start(&tokens)),
            '?' => (Token::Any, 1),
            '[' => {
                let end = class_end(rest.as_bytes(), 0)?;
                (Token::Class(class(rest.get(1..end).unwrap_or_default())), end + 1)
            }
            '\\' => {
                let escaped =
                    rest.chars().nth(1).ok_or((text.len() - 1, GlobFault::DanglingEscape))?;
                (Token::Char(escaped), 1 + escaped.len_utf8())
            }
            literal => (Token::Char(literal), literal.len_utf8()),
        };
        tokens.push(token);
        rest = rest.get(used..).unwrap_or_default();
    }
    Ok(tokens)
}

fn at_segment_start(before: &[Token]) -> bool {
    matches!(before.last(), None | Some(Token::Char('/') | Token::Segments))
}

/// `**` spans segments only where it is a whole segment; elsewhere it is a plain star.
fn star(rest: &str, at_segment_start: bool) -> (Token, usize) {
    match rest.strip_prefix("**") {
        Some("") if at_segment_start => (Token::Rest, 2),
        Some(after) if at_segment_start && after.starts_with('/') => (Token::Segments, 3),
        Some(_) => (Token::Star, 2),
        None => (Token::Star, 1),
    }
}

fn class(inside: &str) -> Class {
    let negated = inside.starts_with(['!', '^']);
    let mut chars = inside.get(usize::from(negated)..).unwrap_or_default().chars().peekable();
    let mut ranges: Vec<(char, char)> = Vec::new();
    // The character that a following hyphen would make the lower bound of a range.
    let mut low = None;
    while let Some(char) = chars.next() {
        let bound = low.take();
        if let ('-', Some(low), true) = (char, bound, chars.peek().is_some()) {
            let high = unescaped(chars.next(), &mut chars);
            ranges.push((low, high.unwrap_or(low)));
            continue;
        }
        if let Some(char) = unescaped(Some(char), &mut chars) {
            ranges.push((char, char));
            low = Some(char);
        }
    }
    Class { negated, ranges }
}

fn unescaped(char: Option<char>, chars: &mut impl Iterator<Item = char>) -> Option<char> {
    if char == Some('\\') { chars.next() } else { char }
}
