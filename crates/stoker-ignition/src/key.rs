//! The API key: read from its file for every call, sent, and never shown.

use std::path::Path;

use stoker_http::header::HeaderValue;
use stoker_sync::input_file;

use crate::error::Error;

/// Far more than a token needs.
const LIMIT: u64 = 4096;
/// A shorter secret may occur in a harmless response.
const TELLING: usize = 12;

/// Returns what is wrong with a file that should hold an API key. Neither its path nor anything of
/// its content is in the words.
pub fn fault_of_key(path: &Path) -> Option<String> {
    match Key::read(path).err()? {
        Error::ReadKey { source, .. } => Some(format!("it can't be read: {source}")),
        Error::UnusableKey { why, .. } => Some(why.to_owned()),
        other => Some(other.to_string()),
    }
}

/// A key in memory, for the length of one call. Neither `Debug` nor `Display`.
pub(crate) struct Key(String);

impl Key {
    /// Reads `name:secret` from a file; one trailing newline is dropped.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let unusable = |why| Error::UnusableKey { path: path.to_owned(), why };
        let bytes = input_file::read(path, LIMIT)
            .map_err(|source| Error::ReadKey { path: path.to_owned(), source })?;
        let text = String::from_utf8(bytes).map_err(|_| unusable("it is not text"))?;
        Self::parse(&text).map_err(unusable)
    }

    fn parse(text: &str) -> Result<Self, &'static str> {
        let line = text.strip_suffix('\n').unwrap_or(text);
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.is_empty() {
            return Err("it is empty");
        }
        if line.bytes().any(|byte| byte.is_ascii_control()) {
            return Err("it holds more than one line, or control characters");
        }
        match line.split_once(':') {
            Some((name, secret)) if !name.is_empty() && !secret.is_empty() => {}
            // The gateway would return 401: do not send it half a key.
            _ => return Err("it must hold name:secret, the whole token as the gateway showed it"),
        }
        Ok(Self(line.to_owned()))
    }

    /// Returns the header's value, marked so that nothing below us prints or indexes it.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_bytes(self.0.as_bytes()).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Returns whether these bytes hold the secret: such a response must not reach a message.
    pub(crate) fn is_echoed_in(&self, bytes: &[u8]) -> bool {
        let secret = self.0.split_once(':').map_or("", |(_, secret)| secret).as_bytes();
        secret.len() >= TELLING && bytes.windows(secret.len()).any(|window| window == secret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // G3.
    #[test]
    fn exactly_one_trailing_newline_is_dropped() {
        for (text, key) in
            [("a:b", "a:b"), ("a:b\n", "a:b"), ("a:b\r\n", "a:b"), ("a:b:c ", "a:b:c ")]
        {
            assert_eq!(Key::parse(text).ok().unwrap().0, key);
        }
    }

    #[test]
    fn a_key_that_can_not_work_is_refused_here() {
        for text in ["", "\n", "\r\n", "secret", ":b", "a:", "a:b\n\n", "a:b\nc:d\n", "a:b\0"] {
            assert!(Key::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn an_echo_of_the_secret_is_noticed() {
        let key = Key::parse("ci:0123456789abcdef").ok().unwrap();
        assert!(key.is_echoed_in(b"{\"x\":\"0123456789abcdef\"}"));
        assert!(!key.is_echoed_in(b"{\"x\":\"0123456789abcdeX\"}"));
        assert!(!Key::parse("ci:a").ok().unwrap().is_echoed_in(b"abc"));
    }
}
