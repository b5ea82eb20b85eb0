//! The record of all requests: what was asked, and how much went over the wire. No secrets.

use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::{HeaderMap, HeaderName, header, request};

/// One request, as far as it has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `GET` or `POST`.
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The query, empty where there is none.
    pub query: String,
    /// Header names in lower case with their values; those of secrets are cut to their scheme.
    pub headers: Vec<(String, String)>,
    /// What the credentials were worth.
    pub credentials: Credentials,
    /// The status of the answer, 0 while there is none.
    pub status: u16,
    /// Bytes of the request's body so far.
    pub bytes_in: u64,
    /// Bytes of the answer's body so far.
    pub bytes_out: u64,
}

/// What the credentials of a request were worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credentials {
    /// The request had none.
    None,
    /// It had some, though the server asked for none.
    Unasked,
    /// They were wrong.
    Wrong,
    /// They were right.
    Right,
}

impl Request {
    /// Returns the value of a header, named in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Says whether this asks for the list of refs or for the server's capabilities: the first
    /// request of every query.
    pub fn is_discovery(&self) -> bool {
        self.method == "GET" && self.path.ends_with("/info/refs")
    }
}

#[derive(Debug, Default)]
pub(super) struct Log {
    entries: Mutex<Vec<Arc<Entry>>>,
}

/// A request and the counters that go on while its bodies flow.
#[derive(Debug)]
pub(super) struct Entry {
    request: Request,
    status: AtomicU16,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
}

impl Log {
    pub(super) fn begin(&self, head: &request::Parts, credentials: Credentials) -> Arc<Entry> {
        let request = Request {
            method: head.method.to_string(),
            path: head.uri.path().to_owned(),
            query: head.uri.query().unwrap_or_default().to_owned(),
            headers: readable(&head.headers),
            credentials,
            status: 0,
            bytes_in: 0,
            bytes_out: 0,
        };
        let entry = Arc::new(Entry {
            request,
            status: AtomicU16::new(0),
            bytes_in: AtomicU64::new(0),
            bytes_out: AtomicU64::new(0),
        });
        self.entries().push(Arc::clone(&entry));
        entry
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.entries().iter().map(|entry| entry.snapshot()).collect()
    }

    pub(super) fn take(&self) -> Vec<Request> {
        std::mem::take(&mut *self.entries()).iter().map(|entry| entry.snapshot()).collect()
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    pub(super) fn answered(&self, status: u16) {
        self.status.store(status, Ordering::Relaxed);
    }

    pub(super) fn received(&self, bytes: usize) {
        self.bytes_in.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn sent(&self, bytes: usize) {
        self.bytes_out.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn snapshot(&self) -> Request {
        Request {
            status: self.status.load(Ordering::Relaxed),
            bytes_in: self.bytes_in.load(Ordering::Relaxed),
            bytes_out: self.bytes_out.load(Ordering::Relaxed),
            ..self.request.clone()
        }
    }
}

const SECRET: [HeaderName; 3] =
    [header::AUTHORIZATION, header::PROXY_AUTHORIZATION, header::COOKIE];

fn readable(headers: &HeaderMap) -> Vec<(String, String)> {
    let show = |(name, value): (&HeaderName, &axum::http::HeaderValue)| {
        let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
        let text = if SECRET.contains(name) {
            format!("{} …", text.split(' ').next().unwrap_or_default())
        } else {
            text
        };
        (name.to_string(), text)
    };
    headers.iter().map(show).collect()
}
