//! What the server does with a request before git sees it. Pure: a request's head in, a decision
//! out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::{HeaderMap, Uri, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::log::Credentials;

/// The user name that goes with a token, as GitHub has it.
const TOKEN_USER: &str = "x-access-token";

/// The credentials that a server asks for.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Auth {
    /// None: everyone may read.
    #[default]
    Open,
    /// A user name and a password.
    Basic(String, String),
    /// A bearer token.
    Bearer(String),
    /// Any token that this server has given, as a password.
    Issued(Issued),
}

/// The tokens that a server has given out and accepts, shared by the part that gives them and the
/// part that checks them.
#[derive(Clone, Default)]
pub struct Issued(Arc<Mutex<Vec<String>>>);

/// An answer that the server gives by itself, to some requests: outages, limits, refusals.
#[derive(Debug, Clone)]
pub struct Injection {
    pub(super) status: u16,
    pub(super) html: Option<String>,
    times: Option<usize>,
}

/// What clients may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Access {
    /// Fetch.
    #[default]
    Read,
    /// Fetch and push.
    Write,
}

/// The newest wire protocol that a server speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protocol {
    /// The original one, as old servers do.
    V0,
    /// Version 2, where the client asks for it.
    #[default]
    V2,
}

/// What is to become of a request.
#[derive(Debug, Clone)]
pub(super) enum Decision {
    Inject(Injection),
    Redirect { status: u16, location: String },
    Unauthorized { scheme: &'static str },
    NotFound,
    Backend(Backend),
}

/// A request that git answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Backend {
    pub(super) repository: PathBuf,
    /// The path below the repository, with its slash.
    pub(super) rest: String,
    pub(super) protocol: Protocol,
    pub(super) access: Access,
}

#[derive(Debug, Default)]
pub(super) struct Policy {
    pub(super) auth: Auth,
    pub(super) access: Access,
    pub(super) protocol: Protocol,
    pub(super) injections: Vec<Injection>,
    mounts: BTreeMap<String, PathBuf>,
    redirects: BTreeMap<String, (u16, String)>,
}

impl Issued {
    pub(in crate::git) fn tokens(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Two handles of the same list are equal.
impl PartialEq for Issued {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Issued {}

impl Injection {
    /// Answers every request with this status.
    pub fn status(status: u16) -> Self {
        Self { status, html: None, times: None }
    }

    /// Ends after `count` answers.
    #[must_use]
    pub fn times(mut self, count: usize) -> Self {
        self.times = Some(count);
        self
    }

    /// Adds a body of HTML: text that must never be shown to a user.
    #[must_use]
    pub fn html(mut self, body: impl Into<String>) -> Self {
        self.html = Some(body.into());
        self
    }

    /// Counts one request, and says whether this is the answer to it.
    fn fires(&mut self) -> bool {
        match &mut self.times {
            None => true,
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
        }
    }
}

impl Policy {
    pub(super) fn mount(&mut self, name: &str, repository: &Path) {
        self.redirects.remove(name);
        self.mounts.insert(name.to_owned(), repository.to_owned());
    }

    pub(super) fn unmount(&mut self, name: &str) {
        self.redirects.remove(name);
        self.mounts.remove(name);
    }

    pub(super) fn redirect(&mut self, name: &str, status: u16, target: &str) {
        self.redirects.insert(name.to_owned(), (status, target.to_owned()));
    }

    /// Decides in the order of a forge: outage, redirect, credentials, repository.
    pub(super) fn decide(&mut self, uri: &Uri, headers: &HeaderMap) -> Decision {
        let fired = |injection: &mut Injection| injection.fires().then(|| injection.clone());
        if let Some(injection) = self.injections.iter_mut().find_map(fired) {
            return Decision::Inject(injection);
        }
        let Some((name, rest)) = split(uri.path()) else { return Decision::NotFound };
        if let Some((status, target)) = self.redirects.get(name) {
            let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
            return Decision::Redirect {
                status: *status,
                location: format!("{target}{rest}{query}"),
            };
        }
        if self.auth.judge(headers) != Credentials::Right && self.auth != Auth::Open {
            return Decision::Unauthorized { scheme: self.auth.scheme() };
        }
        let Some(repository) = self.mounts.get(name) else { return Decision::NotFound };
        Decision::Backend(Backend {
            repository: repository.clone(),
            rest: rest.to_owned(),
            protocol: self.protocol,
            access: self.access,
        })
    }
}

impl Auth {
    /// Says what a request's credentials are worth here.
    pub(super) fn judge(&self, headers: &HeaderMap) -> Credentials {
        let Some(given) = headers.get(header::AUTHORIZATION) else { return Credentials::None };
        let expected = match self {
            Self::Open => return Credentials::Unasked,
            Self::Basic(user, password) => {
                format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
            }
            Self::Bearer(token) => format!("Bearer {token}"),
            Self::Issued(tokens) => {
                return match presented(given.as_bytes()) {
                    Some(token) if tokens.tokens().contains(&token) => Credentials::Right,
                    _ => Credentials::Wrong,
                };
            }
        };
        if given.as_bytes() == expected.as_bytes() {
            return Credentials::Right;
        }
        Credentials::Wrong
    }

    fn scheme(&self) -> &'static str {
        match self {
            Self::Open | Self::Basic(..) | Self::Issued(_) => "Basic",
            Self::Bearer(_) => "Bearer",
        }
    }
}

/// Not even a test prints a password.
impl std::fmt::Debug for Auth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Open => f.write_str("Open"),
            Self::Basic(user, _) => write!(f, "Basic({user:?}, …)"),
            Self::Bearer(_) => f.write_str("Bearer(…)"),
            Self::Issued(_) => f.write_str("Issued(…)"),
        }
    }
}

/// The token in an `Authorization` header, where the user name is the one for tokens.
fn presented(header: &[u8]) -> Option<String> {
    let pair = STANDARD.decode(header.strip_prefix(b"Basic ")?).ok()?;
    let (user, token) = std::str::from_utf8(&pair).ok()?.split_once(':')?;
    (user == TOKEN_USER).then(|| token.to_owned())
}

/// Splits `/plant.git/info/refs` into `plant` and `/info/refs`.
fn split(path: &str) -> Option<(&str, &str)> {
    let path = path.strip_prefix('/')?;
    let (name, rest) = path.split_once(".git")?;
    (rest.is_empty() || rest.starts_with('/')).then_some((name, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(policy: &mut Policy) -> Option<u16> {
        match policy.decide(&Uri::from_static("/plant.git/info/refs"), &HeaderMap::new()) {
            Decision::Inject(injection) => Some(injection.status),
            _ => None,
        }
    }

    #[test]
    fn injections_are_tried_in_order_and_only_the_first_that_fires_counts() {
        let mut policy = Policy::default();
        policy.injections.push(Injection::status(401).times(1));
        policy.injections.push(Injection::status(429).times(1));
        let statuses: Vec<_> = (0..3).map(|_| status(&mut policy)).collect();
        assert_eq!(statuses, [Some(401), Some(429), None]);
    }

    #[test]
    fn paths_are_split_at_the_repository() {
        assert_eq!(split("/plant.git/info/refs"), Some(("plant", "/info/refs")));
        assert_eq!(split("/group/plant.git"), Some(("group/plant", "")));
        assert_eq!(split("/plant.gitx/info"), None);
        assert_eq!(split("/plant/info/refs"), None);
    }

    #[test]
    fn a_redirect_keeps_path_and_query() {
        let mut policy = Policy::default();
        policy.redirect("old", 301, "http://localhost:1/new.git");
        let uri = Uri::from_static("/old.git/info/refs?service=git-upload-pack");
        let Decision::Redirect { status, location } = policy.decide(&uri, &HeaderMap::new()) else {
            panic!("not redirected")
        };
        let expected = "http://localhost:1/new.git/info/refs?service=git-upload-pack";
        assert_eq!((status, location.as_str()), (301, expected));
    }

    #[test]
    fn debug_shows_no_secret() {
        let shown = format!(
            "{:?} {:?}",
            Auth::Basic("u".into(), "hunter2".into()),
            Auth::Bearer("hunter2".into())
        );
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
