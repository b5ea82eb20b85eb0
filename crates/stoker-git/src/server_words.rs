//! What a server said when an operation failed, for a person who asks for it.
//!
//! Never part of an error: logs, conditions and reports do not have it. A line that holds the
//! credential that was sent, plain or as the header encodes it, is left out.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use stoker_api::word::Secret;

use crate::access::Access;
use crate::auth::{self, Auth};

const MOST_LINES: usize = 10;
const MOST_CHARACTERS: usize = 300;

/// The last words of a server. Clones share them.
#[derive(Clone, Default)]
pub struct ServerWords(Arc<Mutex<Vec<String>>>);

impl ServerWords {
    /// Returns the lines and forgets them. They hold no control characters.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps what the server wrote among what git wrote.
    pub(crate) fn note(&self, access: &Access, stderr: &str) {
        let secrets = secrets(access);
        let is_safe = |line: &&str| {
            let holds = |secret: &Secret| {
                line.as_bytes().windows(secret.reveal().len()).any(|part| part == secret.reveal())
            };
            secrets.as_ref().is_some_and(|secrets| !secrets.iter().any(holds))
        };
        let lines = stderr.split(['\n', '\r']).filter_map(spoken).filter(is_safe);
        let lines = lines.take(MOST_LINES).map(printable).filter(|line| !line.is_empty());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = lines.collect();
    }
}

impl fmt::Debug for ServerWords {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ServerWords")
    }
}

/// Returns what the server said on a line, if it was the server.
fn spoken(line: &str) -> Option<&str> {
    let remote = line.get(..8).filter(|start| start.eq_ignore_ascii_case("remote: "));
    match remote {
        Some(_) => line.get(8..),
        None => line.split_once("remote error: ").map(|(_, words)| words),
    }
}

/// Control characters and marks that turn the direction of text are escaped.
fn printable(line: &str) -> String {
    let escape = |c: char| {
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c.is_control() || turns { c.escape_unicode().to_string() } else { c.to_string() }
    };
    line.trim().chars().take(MOST_CHARACTERS).map(escape).collect()
}

/// Returns the forms in which the server got our credential; `None` where they are not known, so
/// that nothing can be said to be safe.
fn secrets(access: &Access) -> Option<Vec<Secret>> {
    match &access.auth {
        Auth::None | Auth::SshKey { .. } => Some(Vec::new()),
        Auth::GithubApp(_) => None,
        Auth::Token { file, username, .. } => {
            let token = auth::read("token file", file).ok()?;
            let pair = Secret::new([username.as_bytes(), b":", token.reveal()].concat());
            let [pair, alone] = [&pair, &token].map(|form| STANDARD.encode(form.reveal()));
            Some(vec![token, Secret::new(pair), Secret::new(alone)])
        }
    }
}

#[cfg(test)]
mod tests {
    use stoker_api::word::RepoUrl;

    use super::*;

    fn heard(access: &Access, stderr: &str) -> Vec<String> {
        access.server_words.note(access, stderr);
        access.server_words.take()
    }

    #[test]
    fn only_what_the_server_said_is_kept_and_nothing_of_it_moves_a_cursor() {
        let access = Access::public(RepoUrl::parse("https://git.example/a").unwrap(), "helper");
        let stderr = "remote: aborting due to \u{1b}[2Jcorruption\nfatal: early EOF\n\
                      fatal: remote error: upload-pack: not our ref\nremote: \n";
        let said = heard(&access, stderr);
        assert_eq!(said, ["aborting due to \\u{1b}[2Jcorruption", "upload-pack: not our ref"]);
        assert_eq!(access.server_words.take(), Vec::<String>::new());
    }

    #[test]
    fn a_line_with_the_credential_in_it_is_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        std::fs::write(&file, "hunter2\n").unwrap();
        let mut access = Access::public(RepoUrl::parse("https://git.example/a").unwrap(), "helper");
        access.auth = Auth::Token { username: "robot".into(), file };
        let pair = STANDARD.encode("robot:hunter2");
        let stderr = format!("remote: you sent hunter2\nremote: Basic {pair}\nremote: denied\n");
        assert_eq!(heard(&access, &stderr), ["denied"]);
    }
}
