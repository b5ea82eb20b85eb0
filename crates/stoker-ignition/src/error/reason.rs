//! The reason of an error, for machines: a closed set, and what follows from each.

use super::Error;

/// Why, as a word that scripts and conditions can rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is its own explanation; `hint` says what to do")]
pub enum Reason {
    InvalidAddress,
    CertificatesUnusable,
    KeyMissing,
    KeyUnusable,
    ConnectionRefused,
    Unreachable,
    TimedOut,
    ConnectionLost,
    TlsMismatch,
    CertificateUntrusted,
    Unauthorized,
    Forbidden,
    RouteNotFound,
    NeedsCommissioning,
    Redirected,
    TooManyRequests,
    GatewayStarting,
    ServerFault,
    UnexpectedAnswer,
    AnswerTooLarge,
    ScanLockHeld,
    ScanTimedOut,
    DesignerSessionActive,
    DesignerStateUnknown,
    Cancelled,
    Internal,
}

/// What a caller does about the files when the gateway's API fails before they are in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consequence {
    /// Nothing may be written: somebody must act first, or asked us not to.
    WriteNothing,
    /// The files land, the scan is owed.
    ScanOwed,
}

/// When what failed is tried again, if nothing changes here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Soon, then less often: it may pass by itself.
    Backoff,
    /// At the next period: somebody must do something first, on the gateway or here.
    NextPeriod,
}

impl Reason {
    /// Returns the word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidAddress => "GatewayAddressInvalid",
            Self::CertificatesUnusable => "GatewayCertificatesUnusable",
            Self::KeyMissing => "GatewayKeyMissing",
            Self::KeyUnusable => "GatewayKeyUnusable",
            Self::ConnectionRefused => "GatewayConnectionRefused",
            Self::Unreachable => "GatewayUnreachable",
            Self::TimedOut => "GatewayTimedOut",
            Self::ConnectionLost => "GatewayConnectionLost",
            Self::TlsMismatch => "GatewayTLSMismatch",
            Self::CertificateUntrusted => "GatewayCertificateUntrusted",
            Self::Unauthorized => "GatewayUnauthorized",
            Self::Forbidden => "GatewayForbidden",
            Self::RouteNotFound => "GatewayRouteNotFound",
            Self::NeedsCommissioning => "GatewayNeedsCommissioning",
            Self::Redirected => "GatewayRedirected",
            Self::TooManyRequests => "GatewayTooManyRequests",
            Self::GatewayStarting => "GatewayStarting",
            Self::ServerFault => "GatewayServerFault",
            Self::UnexpectedAnswer => "GatewayUnexpectedAnswer",
            Self::AnswerTooLarge => "GatewayAnswerTooLarge",
            Self::ScanLockHeld => "ScanLockHeld",
            Self::ScanTimedOut => "ScanTimedOut",
            Self::DesignerSessionActive => "DesignerSessionActive",
            Self::DesignerStateUnknown => "DesignerStateUnknown",
            Self::Cancelled => "Cancelled",
            Self::Internal => "Internal",
        }
    }
}

impl Error {
    /// Returns why, for machines.
    pub fn reason(&self) -> Reason {
        match self {
            Self::InvalidUrl { .. } => Reason::InvalidAddress,
            Self::ReadAuthorities { .. } | Self::UnusableAuthorities { .. } => {
                Reason::CertificatesUnusable
            }
            Self::StartRuntime { .. } => Reason::Internal,
            Self::NoKey | Self::ReadKey { .. } => Reason::KeyMissing,
            Self::UnusableKey { .. } => Reason::KeyUnusable,
            Self::ConnectionRefused { .. } => Reason::ConnectionRefused,
            Self::Unreachable { .. } => Reason::Unreachable,
            Self::TimedOut { .. } => Reason::TimedOut,
            Self::ConnectionLost { .. } => Reason::ConnectionLost,
            Self::TlsMismatch { .. } => Reason::TlsMismatch,
            Self::Untrusted { .. } => Reason::CertificateUntrusted,
            Self::Unauthorized { .. } => Reason::Unauthorized,
            Self::Forbidden { .. } => Reason::Forbidden,
            Self::NotFound { .. } => Reason::RouteNotFound,
            Self::NeedsCommissioning { .. } | Self::NotCommissioned { .. } => {
                Reason::NeedsCommissioning
            }
            Self::Redirected { .. } => Reason::Redirected,
            Self::TooManyRequests { .. } => Reason::TooManyRequests,
            Self::Starting { .. } | Self::NotReady { .. } => Reason::GatewayStarting,
            Self::ServerFault { .. } => Reason::ServerFault,
            Self::UnexpectedStatus { .. } | Self::NotJson { .. } | Self::Malformed { .. } => {
                Reason::UnexpectedAnswer
            }
            Self::TooLarge { .. } => Reason::AnswerTooLarge,
            Self::LockHeld { .. } | Self::LockTimedOut { .. } => Reason::ScanLockHeld,
            Self::ScanTimedOut { .. } => Reason::ScanTimedOut,
            Self::DesignerSessionActive { .. } => Reason::DesignerSessionActive,
            Self::DesignerStateUnknown { .. } => Reason::DesignerStateUnknown,
            Self::Cancelled => Reason::Cancelled,
        }
    }

    /// Returns what it means for files that are not in place yet.
    pub fn consequence(&self) -> Consequence {
        match self.reason() {
            Reason::InvalidAddress
            | Reason::CertificatesUnusable
            | Reason::KeyMissing
            | Reason::KeyUnusable
            | Reason::Unauthorized
            | Reason::Forbidden
            | Reason::ScanLockHeld
            | Reason::DesignerSessionActive
            | Reason::DesignerStateUnknown
            | Reason::Cancelled
            | Reason::Internal => Consequence::WriteNothing,
            Reason::ConnectionRefused
            | Reason::Unreachable
            | Reason::TimedOut
            | Reason::ConnectionLost
            | Reason::TlsMismatch
            | Reason::CertificateUntrusted
            | Reason::RouteNotFound
            | Reason::NeedsCommissioning
            | Reason::Redirected
            | Reason::TooManyRequests
            | Reason::GatewayStarting
            | Reason::ServerFault
            | Reason::UnexpectedAnswer
            | Reason::AnswerTooLarge
            | Reason::ScanTimedOut => Consequence::ScanOwed,
        }
    }
}
