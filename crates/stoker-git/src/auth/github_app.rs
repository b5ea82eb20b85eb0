//! A GitHub App: its private key signs a short-lived JWT, which GitHub exchanges for a token.
//!
//! # Promises
//!
//! A token is used again until ten minutes before its end, by the server's clock. Tokens are asked
//! for one repository, to read its contents, and nothing more. An exchange ends within its timeout,
//! and at once when it is cancelled. Errors carry the server's status, never its body.

mod exchange;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use stoker_api::word::{HttpUrl, SafeUrl, Secret};

use crate::Cancel;
use crate::access::{PlainHttp, host_of, is_loopback};

pub use exchange::Error;

/// Tokens are renewed this long before they end: the kubelet may take 90 s to show a new one.
const RENEW_BEFORE: Duration = Duration::from_mins(10);

/// Which App, and where its key is.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The App's id (or its client id).
    pub app_id: String,
    /// The installation's id.
    pub installation_id: u64,
    /// The file with the private key, as PEM.
    pub key_file: PathBuf,
    /// The API: `https://api.github.com`, or `https://host/api/v3` of a GitHub Enterprise Server.
    pub api: HttpUrl,
    /// The repository's name, to which tokens are limited.
    pub repository: Option<String>,
    /// The certificates to trust instead of the system's, as PEM.
    pub ca_file: Option<PathBuf>,
    /// The proxy to use.
    pub proxy: Option<HttpUrl>,
    /// The addresses of the proxy, or else of the API, where the caller has resolved and checked
    /// them. Where it is empty, names are resolved.
    pub addresses: Vec<IpAddr>,
    /// Whether the JWT may travel unencrypted.
    pub plain_http: PlainHttp,
    /// How long one exchange may take.
    pub timeout: Duration,
}

/// A GitHub App with the token that it got last.
#[derive(Debug)]
pub struct GithubApp {
    settings: Settings,
    cached: Mutex<Option<Token>>,
}

/// A token, and when it ends by our own monotonic clock.
#[derive(Debug, Clone)]
pub struct Token {
    /// The token itself.
    pub value: Secret,
    /// When it ends, by our own monotonic clock.
    pub ends: Instant,
    /// When it ends, by our own wall clock.
    pub expires: jiff::Timestamp,
}

impl GithubApp {
    /// Returns an App that has no token yet.
    pub fn new(settings: Settings) -> Self {
        Self { settings, cached: Mutex::new(None) }
    }

    /// Returns a token that is good for at least ten minutes (or as long as GitHub gives).
    ///
    /// Blocks. The key is read, and GitHub asked, only if the token at hand is about to end.
    pub fn token(&self, cancel: &Cancel) -> Result<Secret, Error> {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(token) = cached.as_ref().filter(|token| token.is_fresh(Instant::now())) {
            return Ok(token.value.clone());
        }
        let token = self.exchange(cancel)?;
        Ok(cached.insert(token).value.clone())
    }

    /// Returns a new token from GitHub, whatever is at hand. Blocks.
    pub fn exchange(&self, cancel: &Cancel) -> Result<Token, Error> {
        if self.is_exposed() {
            return Err(Error::PlainHttp);
        }
        exchange::exchange(&self.settings, cancel)
    }

    /// Returns whether the JWT would be sent over plain HTTP although that is not allowed.
    pub(crate) fn is_exposed(&self) -> bool {
        let Settings { api, plain_http, proxy, .. } = &self.settings;
        // What goes by way of a proxy elsewhere leaves this machine, whatever its end.
        let mut hosts = std::iter::once(api).chain(proxy).map(host_of);
        let is_plain = api.as_str().starts_with("http://") && !hosts.all(is_loopback);
        is_plain && *plain_http == PlainHttp::Refused
    }

    /// Returns the API and the file with the key, for messages.
    pub(crate) fn named(&self) -> (SafeUrl, PathBuf) {
        (SafeUrl::from(&self.settings.api), self.settings.key_file.clone())
    }

    /// Forgets the token at hand, because the server refused it.
    pub fn forget(&self) {
        *self.cached.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Token {
    fn is_fresh(&self, now: Instant) -> bool {
        self.ends.saturating_duration_since(now) > RENEW_BEFORE
    }
}

/// Returns what is wrong with a file that should hold the App's key.
pub(super) fn fault_of_key(path: &Path) -> Option<String> {
    match exchange::read_key(path).err()? {
        Error::Key { source } => Some(super::content::words(&source)),
        _ => Some("is not an RSA private key in PEM form".to_owned()),
    }
}

#[cfg(test)]
mod tests;
