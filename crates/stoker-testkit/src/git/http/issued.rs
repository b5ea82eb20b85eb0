//! Tokens that a server has given out and accepts until they expire.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The user name that goes with a token, as GitHub has it.
pub(super) const USER: &str = "x-access-token";

/// The tokens that exist, shared by the part that gives them and the part that checks them.
#[derive(Clone, Default)]
pub struct Issued {
    tokens: Arc<Mutex<Vec<Token>>>,
}

struct Token {
    text: String,
    expires: Instant,
}

impl Issued {
    /// Adds a token.
    pub(in crate::git) fn add(&self, text: &str, expires: Instant) {
        self.tokens().push(Token { text: text.to_owned(), expires });
    }

    /// Returns how many tokens were added since the last [`Issued::revoke`].
    pub(in crate::git) fn count(&self) -> usize {
        self.tokens().len()
    }

    /// Removes all tokens.
    pub(in crate::git) fn revoke(&self) {
        self.tokens().clear();
    }

    /// Says whether a token exists and has not expired.
    pub(super) fn accepts(&self, text: &str, now: Instant) -> bool {
        self.tokens().iter().any(|token| token.text == text && now < token.expires)
    }

    fn tokens(&self) -> MutexGuard<'_, Vec<Token>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Two handles of the same list are equal.
impl PartialEq for Issued {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.tokens, &other.tokens)
    }
}

impl Eq for Issued {}
