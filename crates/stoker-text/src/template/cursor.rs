//! A position among the tokens of a template.

use super::lex::{Kind, Token};

/// The tokens, and how far the parser has come.
pub(super) struct Cursor<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
}

impl<'t> Cursor<'t> {
    /// Begins with the first token; the last one is `End`.
    pub(super) fn new(tokens: Vec<Token<'t>>) -> Self {
        Self { tokens, at: 0 }
    }

    /// Returns a place to come back to with [`Cursor::reset`].
    pub(super) fn mark(&self) -> usize {
        self.at
    }

    pub(super) fn reset(&mut self, mark: usize) {
        self.at = mark;
    }

    pub(super) fn peek(&self) -> Token<'t> {
        // The last token is `End`, and it is never left behind.
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    pub(super) fn next(&mut self) -> Token<'t> {
        let token = self.peek();
        self.at += 1;
        token
    }

    pub(super) fn peek_beyond_space(&mut self) -> Token<'t> {
        while self.peek().kind == Kind::Space {
            self.at += 1;
        }
        self.peek()
    }

    pub(super) fn next_beyond_space(&mut self) -> Token<'t> {
        self.peek_beyond_space();
        self.next()
    }
}
