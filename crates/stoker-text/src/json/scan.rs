//! The scanner: checks a document and finds where its parts begin and end, without decoding them.

use std::ops::{ControlFlow, Range};

use super::{JsonError, JsonFault, MAX_DEPTH};

pub(super) const BOM: &[u8] = "\u{feff}".as_bytes();

type Span = Range<usize>;

type Fault = (usize, JsonFault);

/// A member of an object or an element of a list.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// The name with its quotes; an element has none.
    pub(super) name: Option<Span>,
    pub(super) value: Span,
}

/// What a walk over an object or a list came to.
pub(super) struct Walk {
    /// The item at which the walk was stopped.
    pub(super) hit: Option<Item>,
    pub(super) last: Option<Item>,
    pub(super) count: usize,
    /// The offset of the closing bracket, unless the walk was stopped.
    pub(super) close: usize,
}

struct Scanner<'d> {
    bytes: &'d [u8],
    at: usize,
    depth: usize,
}

/// Checks a document and returns the offset at which its value begins.
pub(super) fn validate(document: &[u8]) -> Result<usize, JsonError> {
    let fail = |(offset, fault)| JsonError::at(document, offset, fault);
    if let Err(error) = std::str::from_utf8(document) {
        return Err(fail((error.valid_up_to(), JsonFault::NotUtf8)));
    }
    let at = if document.starts_with(BOM) { BOM.len() } else { 0 };
    let mut scanner = Scanner { bytes: document, at, depth: 0 };
    scanner.blanks();
    let span = scanner.value().map_err(fail)?;
    scanner.blanks();
    if scanner.at < document.len() {
        return Err(fail((scanner.at, JsonFault::TrailingText)));
    }
    Ok(span.start)
}

/// Walks over the items of the object or list at `open` until one is wanted.
pub(super) fn walk(
    document: &[u8],
    open: usize,
    wanted: impl FnMut(usize, &Item) -> bool,
) -> Result<Walk, JsonError> {
    let mut scanner = Scanner { bytes: document, at: open, depth: 0 };
    scanner.items(wanted).map_err(|(offset, fault)| JsonError::at(document, offset, fault))
}

/// Returns the offset after the value that begins at `start`.
pub(super) fn value_end(document: &[u8], start: usize) -> Result<usize, JsonError> {
    let mut scanner = Scanner { bytes: document, at: start, depth: 0 };
    let span = scanner.value();
    span.map(|span| span.end).map_err(|(offset, fault)| JsonError::at(document, offset, fault))
}

/// Returns the depth of a document that was found valid: 0 for a scalar.
pub(super) fn depth(document: &str) -> usize {
    let (mut depth, mut deepest, mut in_text, mut escaped) = (0_usize, 0, false, false);
    for byte in document.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => depth += 1,
            b'}' | b']' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

impl Scanner<'_> {
    fn value(&mut self) -> Result<Span, Fault> {
        let start = self.at;
        match self.peek() {
            Some(b'{' | b'[') => {
                self.items(|_, _| false)?;
            }
            Some(b'"') => self.string()?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(_) => self.word()?,
            None => return Err((self.at, JsonFault::UnexpectedEnd)),
        }
        Ok(start..self.at)
    }

    /// Scans an object or a list; it is left where the walk stops.
    fn items(&mut self, mut wanted: impl FnMut(usize, &Item) -> bool) -> Result<Walk, Fault> {
        let is_object = self.peek() == Some(b'{');
        let end = if is_object { b'}' } else { b']' };
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err((self.at, JsonFault::TooDeep));
        }
        self.at += 1;
        self.blanks();
        let mut walk = Walk { hit: None, last: None, count: 0, close: self.at };
        if self.peek() != Some(end) {
            let flow = loop {
                let item = if is_object { self.member()? } else { self.element()? };
                if wanted(walk.count, &item) {
                    walk.hit = Some(item);
                    break ControlFlow::Break(());
                }
                walk.last = Some(item);
                walk.count += 1;
                if self.separator(end)?.is_break() {
                    break ControlFlow::Continue(());
                }
            };
            if flow.is_break() {
                return Ok(walk);
            }
        }
        walk.close = self.at;
        self.at += 1;
        self.depth -= 1;
        Ok(walk)
    }

    fn member(&mut self) -> Result<Item, Fault> {
        let start = self.at;
        match self.peek() {
            Some(b'"') => self.string()?,
            Some(_) => return Err((start, JsonFault::ExpectedName)),
            None => return Err((start, JsonFault::UnexpectedEnd)),
        }
        let name = start..self.at;
        self.blanks();
        match self.peek() {
            Some(b':') => self.at += 1,
            Some(_) => return Err((self.at, JsonFault::ExpectedColon)),
            None => return Err((self.at, JsonFault::UnexpectedEnd)),
        }
        self.blanks();
        Ok(Item { name: Some(name), value: self.value()? })
    }

    fn element(&mut self) -> Result<Item, Fault> {
        Ok(Item { name: None, value: self.value()? })
    }

    /// Takes a comma, or stops before the closing bracket.
    fn separator(&mut self, end: u8) -> Result<ControlFlow<()>, Fault> {
        self.blanks();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.blanks();
                Ok(ControlFlow::Continue(()))
            }
            Some(byte) if byte == end => Ok(ControlFlow::Break(())),
            Some(_) => Err((self.at, JsonFault::ExpectedCommaOrEnd)),
            None => Err((self.at, JsonFault::UnexpectedEnd)),
        }
    }

    fn string(&mut self) -> Result<(), Fault> {
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(0..=0x1f) => return Err((self.at, JsonFault::ControlCharacter)),
                Some(_) => self.at += 1,
                None => return Err((self.at, JsonFault::UnexpectedEnd)),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Fault> {
        let start = self.at;
        let length = match self.bytes.get(start + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
            Some(b'u') => 6,
            Some(_) => return Err((start, JsonFault::BadEscape)),
            None => return Err((start + 1, JsonFault::UnexpectedEnd)),
        };
        let digits = self.bytes.get(start + 2..start + length);
        if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
            return Err((start, JsonFault::BadEscape));
        }
        self.at += length;
        Ok(())
    }

    fn number(&mut self) -> Result<(), Fault> {
        let start = self.at;
        self.take(b"-");
        let leading_zero = self.peek() == Some(b'0');
        let whole = self.digits();
        let mut good = whole == 1 || (whole > 1 && !leading_zero);
        if self.take(b".") {
            good &= self.digits() > 0;
        }
        if self.take(b"eE") {
            self.take(b"+-");
            good &= self.digits() > 0;
        }
        if good { Ok(()) } else { Err((start, JsonFault::BadNumber)) }
    }

    fn word(&mut self) -> Result<(), Fault> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let words: [&[u8]; 3] = [b"true", b"false", b"null"];
        match words.iter().find(|word| rest.starts_with(word)) {
            Some(word) => {
                self.at += word.len();
                Ok(())
            }
            None => Err((self.at, JsonFault::ExpectedValue)),
        }
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn take(&mut self, any: &[u8]) -> bool {
        let found = self.peek().is_some_and(|byte| any.contains(&byte));
        self.at += usize::from(found);
        found
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }
}
