//! Template text to tokens, with trim markers and comments already taken out.

use super::TemplateError;
use super::error::Position;

/// The most tokens of one template: far beyond what people write, well below what hurts.
const MAX_TOKENS: usize = 250_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Open,
    Close,
    Space,
    Pipe,
    Declare,
    Assign,
    Comma,
    LeftParen,
    RightParen,
    Dot,
    Field,
    Variable,
    Word,
    Number,
    Quoted,
    Raw,
    Char,
    End,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind,
    pub(super) text: &'t str,
    pub(super) position: Position,
}

struct Lexer<'t> {
    rest: &'t str,
    position: Position,
    tokens: Vec<Token<'t>>,
    parens: Vec<Position>,
}

/// Splits a template; the last token is always `End`.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, TemplateError> {
    let mut lexer =
        Lexer { rest: text, position: Position::START, tokens: Vec::new(), parens: Vec::new() };
    while !lexer.rest.is_empty() {
        lexer.text()?;
    }
    lexer.push(Kind::End, 0)?;
    Ok(lexer.tokens)
}

impl Lexer<'_> {
    /// Takes text up to the next action, then the action.
    fn text(&mut self) -> Result<(), TemplateError> {
        let Some(at) = self.rest.find("{{") else {
            return self.push(Kind::Text, self.rest.len());
        };
        let (before, action) = self.rest.split_at(at);
        let trims = action.strip_prefix("{{-").is_some_and(|after| after.starts_with(is_space));
        let kept = if trims { before.trim_end_matches(is_space).len() } else { at };
        if kept > 0 {
            self.push(Kind::Text, kept)?;
        }
        self.skip(at - kept);
        self.action(if trims { 3 } else { 2 })
    }

    fn action(&mut self, delimiter: usize) -> Result<(), TemplateError> {
        let start = self.position;
        let inside = self.rest.get(delimiter..).unwrap_or_default();
        let blanks = inside.len() - inside.trim_start_matches(is_space).len();
        // A comment stands alone in its action, directly after the marker.
        let before = if delimiter == 3 { blanks } else { 0 };
        if inside.get(before..).unwrap_or_default().starts_with("/*") {
            self.skip(delimiter + before);
            return self.comment(start);
        }
        self.push(Kind::Open, delimiter)?;
        self.parens.clear();
        loop {
            if let Some((length, trims)) = closing(self.rest) {
                if let Some(paren) = self.parens.last() {
                    return Err(paren.error("this parenthesis is not closed"));
                }
                self.push(Kind::Close, length)?;
                self.trim(trims);
                return Ok(());
            }
            if self.rest.is_empty() {
                return Err(start.error("this action is not closed with }}"));
            }
            self.inside()?;
        }
    }

    fn comment(&mut self, start: Position) -> Result<(), TemplateError> {
        let end = self.rest.find("*/").ok_or_else(|| start.error("this comment is not closed"))?;
        self.skip(end + 2);
        let (length, trims) = closing(self.rest).ok_or_else(|| {
            self.position.error("a comment must be closed with */ and }} at once")
        })?;
        self.skip(length);
        self.trim(trims);
        Ok(())
    }

    fn inside(&mut self) -> Result<(), TemplateError> {
        let first = self.rest.chars().next().unwrap_or_default();
        match first {
            char if is_space(char) => self.space(),
            '|' => self.push(Kind::Pipe, 1),
            ',' => self.push(Kind::Comma, 1),
            '=' => self.push(Kind::Assign, 1),
            ':' if self.rest.starts_with(":=") => self.push(Kind::Declare, 2),
            '(' => {
                self.parens.push(self.position);
                self.push(Kind::LeftParen, 1)
            }
            ')' => match self.parens.pop() {
                Some(_) => self.push(Kind::RightParen, 1),
                None => Err(self.position.error("this parenthesis closes nothing")),
            },
            '"' => self.quoted('"', Kind::Quoted),
            '\'' => self.quoted('\'', Kind::Char),
            '`' => self.raw(),
            '.' if !self
                .rest
                .get(1..)
                .unwrap_or_default()
                .starts_with(|c: char| c.is_ascii_digit()) =>
            {
                self.name(1, Kind::Field, Kind::Dot)
            }
            '.' | '+' | '-' | '0'..='9' => self.number(),
            '$' => self.name(1, Kind::Variable, Kind::Variable),
            char if is_word(char) => self.name(0, Kind::Word, Kind::Word),
            other => {
                Err(self.position.error(format!("unexpected character {other:?} in an action")))
            }
        }
    }

    /// Takes blanks, but leaves the one that belongs to ` -}}`.
    fn space(&mut self) -> Result<(), TemplateError> {
        let length = self.rest.len() - self.rest.trim_start_matches(is_space).len();
        let marked = self.rest.get(length..).unwrap_or_default().starts_with("-}}");
        match length - usize::from(marked) {
            0 => Ok(()),
            length => self.push(Kind::Space, length),
        }
    }

    /// Takes a name after `prefix` bytes; without one the token is of the kind `alone`.
    fn name(&mut self, prefix: usize, kind: Kind, alone: Kind) -> Result<(), TemplateError> {
        let after = self.rest.get(prefix..).unwrap_or_default();
        let length = after.len() - after.trim_start_matches(is_word).len();
        let kind = if length == 0 { alone } else { kind };
        self.push(kind, prefix + length)?;
        self.terminated()
    }

    /// A name must not run into the next token: `.a"b"` is a slip, not two operands.
    fn terminated(&self) -> Result<(), TemplateError> {
        let ends = |char: char| is_space(char) || ".,|:=()".contains(char);
        if self.rest.is_empty() || self.rest.starts_with("}}") || self.rest.starts_with(ends) {
            return Ok(());
        }
        let next = self.rest.chars().next().unwrap_or_default();
        Err(self.position.error(format!("unexpected character {next:?} after a name")))
    }

    fn number(&mut self) -> Result<(), TemplateError> {
        let mut previous = ' ';
        let length = self.rest.len()
            - self
                .rest
                .trim_start_matches(|char: char| {
                    let sign = matches!(char, '+' | '-') && matches!(previous, ' ' | 'e' | 'E');
                    previous = if previous == ' ' && sign { '0' } else { char };
                    sign || char == '.' || is_word(char)
                })
                .len();
        self.push(Kind::Number, length)
    }

    fn quoted(&mut self, quote: char, kind: Kind) -> Result<(), TemplateError> {
        let mut escaped = false;
        for (at, char) in self.rest.char_indices().skip(1) {
            match char {
                '\n' => break,
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                char if char == quote => return self.push(kind, at + 1),
                _ => {}
            }
        }
        Err(self.position.error("this text is not closed on its line"))
    }

    fn raw(&mut self) -> Result<(), TemplateError> {
        let end = self.rest.get(1..).and_then(|inside| inside.find('`'));
        let end =
            end.ok_or_else(|| self.position.error("this text in backquotes is not closed"))?;
        self.push(Kind::Raw, end + 2)
    }

    fn trim(&mut self, trims: bool) {
        if trims {
            self.skip(self.rest.len() - self.rest.trim_start_matches(is_space).len());
        }
    }

    fn push(&mut self, kind: Kind, length: usize) -> Result<(), TemplateError> {
        if self.tokens.len() >= MAX_TOKENS {
            return Err(self.position.error(format!("more than {MAX_TOKENS} tokens")));
        }
        let text = self.rest.get(..length).unwrap_or_default();
        self.tokens.push(Token { kind, text, position: self.position });
        self.skip(length);
        Ok(())
    }

    fn skip(&mut self, length: usize) {
        let (skipped, rest) = self.rest.split_at(length);
        self.position = self.position.after(skipped);
        self.rest = rest;
    }
}

/// Returns the length of the closing marker here, and whether it trims the text that follows.
fn closing(rest: &str) -> Option<(usize, bool)> {
    if rest.starts_with("}}") {
        return Some((2, false));
    }
    (rest.starts_with(is_space) && rest.get(1..)?.starts_with("-}}")).then_some((4, true))
}

fn is_space(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\r' | '\n')
}

fn is_word(char: char) -> bool {
    char == '_' || char.is_alphanumeric()
}
