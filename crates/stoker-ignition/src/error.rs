//! Everything that can go wrong with a gateway, each with a reason for machines and a next step for
//! people.
//!
//! Nothing that a gateway sent is part of a message: what it says may be wrong, huge, or our own
//! key. Only what people need to go on is: who has a designer open, and where a redirect leads,
//! both cut short and made harmless.

mod reason;
mod remedy;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

pub use reason::Consequence;
pub use stoker_api::condition::Reason;
pub use stoker_api::retry::Retry;
use stoker_sync::Half;

/// Which request: method and address, never a header or a body.
#[derive(Clone, PartialEq, Eq)]
pub struct Call(pub(crate) String);

/// Why the gateway's API did not do what we asked.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("the gateway's address is not usable: {why}")]
    InvalidUrl { why: &'static str },
    #[error("failed to read the gateway's authorities from {path:?}")]
    ReadAuthorities { path: PathBuf, source: io::Error },
    #[error("{path:?} holds no usable certificate")]
    UnusableAuthorities { path: PathBuf },
    #[error("failed to start a runtime for calls to the gateway")]
    StartRuntime { source: io::Error },

    #[error("there is no API key for the gateway")]
    NoKey,
    #[error("failed to read the API key from {path:?}")]
    ReadKey { path: PathBuf, source: io::Error },
    #[error("the API key in {path:?} is not usable: {why}")]
    UnusableKey { path: PathBuf, why: &'static str },

    #[error("{call} failed: the connection was refused")]
    ConnectionRefused { call: Call },
    #[error("{call} failed: the gateway can't be reached")]
    Unreachable { call: Call, source: io::Error },
    #[error("{call} failed: no complete response within {}", spoken(*.within))]
    TimedOut { call: Call, within: Duration },
    #[error("{call} failed: the connection was lost before the response was complete")]
    ConnectionLost { call: Call },
    #[error("{call} failed: one side speaks TLS and the other does not")]
    TlsMismatch { call: Call },
    #[error("{call} failed: the gateway's certificate is not trusted: {why}")]
    Untrusted { call: Call, why: &'static str },

    #[error("{call} failed: the gateway does not know the API key (401)")]
    Unauthorized { call: Call },
    #[error("{call} failed: the API key lacks a permission, or needs a secure channel (403)")]
    Forbidden { call: Call },
    #[error("{call} failed: the gateway has no such route (404)")]
    NotFound { call: Call },
    #[error("{call} failed: the gateway is not commissioned (redirect to its welcome page)")]
    NeedsCommissioning { call: Call },
    #[error("{call} failed: the gateway redirects {} ({status})", direction(.to.as_deref()))]
    Redirected { call: Call, status: u16, to: Option<String> },
    #[error("{call} failed: the gateway wants fewer requests (429)")]
    TooManyRequests { call: Call },
    #[error("{call} failed: the gateway is starting (503)")]
    Starting { call: Call },
    #[error("{call} failed: the gateway reports an internal error ({status})")]
    ServerFault { call: Call, status: u16 },
    #[error("{call} failed: unexpected status {status}")]
    UnexpectedStatus { call: Call, status: u16 },

    #[error("{call} failed: the response is not JSON")]
    NotJson { call: Call },
    #[error("{call} failed: the response is not understood: {why}")]
    Malformed { call: Call, why: &'static str },
    #[error("{call} failed: the response is larger than {limit} bytes")]
    TooLarge { call: Call, limit: usize },

    #[error("the gateway is starting (waited {} s)", .waited.as_secs())]
    NotReady { waited: Duration },
    #[error("the gateway is not commissioned (waited {} s)", .waited.as_secs())]
    NotCommissioned { waited: Duration },
    #[error("the scan lock of {half} is held by another client or by a killed run, after {} s", .waited.as_secs())]
    LockHeld { half: Half, waited: Duration },
    #[error("the scan lock of {half} was not granted, after {} s", .waited.as_secs())]
    LockTimedOut { half: Half, waited: Duration },
    #[error("the gateway did not report the end of the scan of {half} within {} s", .waited.as_secs())]
    ScanTimedOut { half: Half, waited: Duration },
    #[error("{count} designer session(s) open: {who}")]
    DesignerSessionActive { count: usize, who: String },
    #[error("whether a designer is open is not known")]
    DesignerStateUnknown { source: Box<Error> },
    #[error("cancelled")]
    Cancelled,
}

/// A time in whole seconds; below one, in whole milliseconds.
fn spoken(time: Duration) -> String {
    let milliseconds = (time.as_micros() + 500) / 1000;
    if milliseconds < 1000 {
        format!("{milliseconds} ms")
    } else {
        format!("{} s", (milliseconds + 500) / 1000)
    }
}

fn direction(to: Option<&str>) -> String {
    to.map_or_else(|| "elsewhere".to_owned(), |to| format!("to {to}"))
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl Error {
    /// Returns when to try again.
    pub fn retry(&self) -> Retry {
        let waits_for_others = matches!(
            self.reason(),
            Reason::ScanLockHeld | Reason::ScanTimedOut | Reason::DesignerSessionActive
        );
        if self.is_passing() || waits_for_others { Retry::Backoff } else { Retry::NextPeriod }
    }

    /// Returns whether asking again in a moment may help, while a call of ours is being waited for.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(
            self.reason(),
            Reason::GatewayConnectionRefused
                | Reason::GatewayUnreachable
                | Reason::GatewayTimedOut
                | Reason::GatewayConnectionLost
                | Reason::GatewayStarting
                | Reason::GatewayNeedsCommissioning
                | Reason::GatewayTooManyRequests
                | Reason::GatewayServerFault
        )
    }
}

#[cfg(test)]
mod tests;
