//! Parses what the user wrote: refs, URLs, user names.

use std::fmt::Write as _;
use std::path::Path;

use stoker_api::chain::Chain;
use stoker_api::word::{HttpUrl, RefName, RepoUrl, UrlError};
use stoker_core::refs::Wanted;

use crate::failure::Failure;

/// How much of a value a message shows.
const MOST_SHOWN: usize = 300;

/// The ref, its grammar checked.
pub(super) fn wanted(text: &str) -> Result<Wanted, Failure> {
    let shown: String = text.chars().take(MOST_SHOWN).collect();
    let wrong = |error: &(dyn std::error::Error + 'static)| {
        Failure::usage(format!("--ref {shown:?}: {}", Chain(error)))
    };
    let name = RefName::parse(text).map_err(|error| wrong(&error))?;
    Wanted::read(&name).map_err(|error| wrong(&error))
}

/// Parses the URL of a repository. A local path is refused with the `file://` URL that it needs.
pub(super) fn repo_url(text: &str) -> Result<RepoUrl, Failure> {
    RepoUrl::parse(text).map_err(|error| {
        let failure = wrong_url("--repo", text, &error);
        match std::path::absolute(text) {
            Ok(path) if !text.starts_with('-') && !text.contains(':') => {
                failure.hint(format!("use --repo {}", file_url(&path)))
            }
            _ if text.starts_with("file://") => {
                failure.hint("write file:///ABSOLUTE/PATH, a space as %20")
            }
            _ if error == UrlError::Credentials => failure
                .hint("put the password or token into a file: --token-file FILE --username NAME"),
            _ if error == UrlError::Port => failure.hint("write https://HOST:PORT/PATH"),
            _ => failure.hint("write https://, ssh://, git:// or file://"),
        }
    })
}

/// A path as a URL: whatever could mean something else there is written by its number.
fn file_url(path: &Path) -> String {
    let mut url = "file://".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => url.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => url.push(char::from(*byte)),
            byte => write!(url, "%{byte:02X}").unwrap_or_default(),
        }
    }
    url
}

pub(super) fn http_url(flag: &str, text: &str) -> Result<HttpUrl, Failure> {
    HttpUrl::parse(text).map_err(|error| wrong_url(flag, text, &error))
}

/// HTTP ends a user name at the first colon, and git's own protocol at the end of the line.
pub(super) fn user(place: &str, name: &str) -> Result<String, Failure> {
    let fault = match name.chars().find(|char| *char == ':' || char.is_control()) {
        Some(char) => format!("{char:?} is not allowed in a user name"),
        None if name.is_empty() => "the user name is empty".to_owned(),
        None => return Ok(name.to_owned()),
    };
    Err(Failure::usage(format!("{place}: {fault}"))
        .hint("give the name alone; the password or token comes from --token-file"))
}

/// What a cluster keeps in a Secret, a command line keeps in a file.
fn wrong_url(flag: &str, text: &str, error: &UrlError) -> Failure {
    Failure::usage(match error {
        UrlError::Credentials => {
            format!(
                "{flag}: the URL contains credentials, which other users can see: remove the part before \"@\""
            )
        }
        // The scheme can't be a secret; the rest may hold one.
        error => match text.split_once("://") {
            Some((scheme, _)) => format!("{flag} {:?}: {error}", format!("{scheme}://…")),
            None => format!("{flag}: {error}"),
        },
    })
}
