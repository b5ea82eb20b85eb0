//! What the worker tells the supervisor, one line each on its standard output.

use std::io::Write as _;

/// One message of the worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Message {
    /// The worker's loop turns.
    Beat,
    /// The gateway may start.
    Started,
    /// The gateway has to wait, for this reason.
    Waiting(String),
}

impl Message {
    /// Sends the message. A supervisor that is gone has ended us as well.
    pub(crate) fn send(&self) {
        let line = match self {
            Self::Beat => "beat\n".to_owned(),
            Self::Started => "started\n".to_owned(),
            Self::Waiting(reason) => format!("waiting {}\n", reason.replace(['\n', '\r'], " ")),
        };
        let mut output = std::io::stdout().lock();
        output.write_all(line.as_bytes()).and_then(|()| output.flush()).ok();
    }

    /// Parses a line without its end.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        match line.split_once(' ') {
            None if line == "beat" => Some(Self::Beat),
            None if line == "started" => Some(Self::Started),
            Some(("waiting", reason)) => Some(Self::Waiting(reason.to_owned())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_message_or_nothing() {
        let cases = [
            ("beat", Some(Message::Beat)),
            ("started", Some(Message::Started)),
            ("waiting for git", Some(Message::Waiting("for git".to_owned()))),
            ("", None),
            ("panicked at", None),
        ];
        for (line, message) in cases {
            assert_eq!(Message::parse(line), message, "{line}");
        }
    }
}
