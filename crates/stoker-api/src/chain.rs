//! Prints an error with its causes on one line: the one printer for logs, conditions and the CLI.
//!
//! Messages leave their `source` out, because it is printed here. Control characters that a hostile
//! remote smuggled into a message never reach a terminal or a log.

use std::error::Error;
use std::fmt::{self, Display, Formatter, Write};

/// Displays an error and, after colons, the errors that caused it.
///
/// ```
/// use stoker_api::chain::Chain;
///
/// let cause = std::io::Error::other("connection refused");
/// assert_eq!(Chain(&cause).to_string(), "connection refused");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Chain<'a>(pub &'a (dyn Error + 'static));

/// Passes text on, with control characters escaped.
struct Printable<'a, 'b>(&'a mut Formatter<'b>);

impl Display for Chain<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let mut out = Printable(formatter);
        write!(out, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(out, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl Write for Printable<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            if character.is_control() {
                write!(self.0, "{}", character.escape_default())?;
            } else {
                self.0.write_char(character)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("failed to fetch")]
    struct Outer {
        source: Inner,
    }

    #[derive(Debug, thiserror::Error)]
    #[error("remote said {0}")]
    struct Inner(&'static str);

    #[test]
    fn causes_follow_after_colons() {
        let error = Outer { source: Inner("no") };
        assert_eq!(Chain(&error).to_string(), "failed to fetch: remote said no");
    }

    #[test]
    fn control_characters_of_a_remote_are_escaped() {
        let error = Outer { source: Inner("\x1b[2J\nno") };
        assert_eq!(Chain(&error).to_string(), "failed to fetch: remote said \\u{1b}[2J\\nno");
    }
}
