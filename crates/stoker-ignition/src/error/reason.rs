//! The reason of an error, for machines: a closed set, and what follows from each.

use stoker_api::registry;

use super::Error;

registry! {
    /// Why, as a word that scripts and conditions can rely on.
    pub enum Reason {
        /// The gateway's address is none.
        InvalidAddress = "GatewayAddressInvalid",
        /// The file with certificates to trust can't be read, or has none.
        CertificatesUnusable = "GatewayCertificatesUnusable",
        /// There is no API key, or its file can't be read.
        KeyMissing = "GatewayKeyMissing",
        /// The file of the API key does not hold one key, `name:secret`.
        KeyUnusable = "GatewayKeyUnusable",
        /// Nobody listens at the gateway's port.
        ConnectionRefused = "GatewayConnectionRefused",
        /// The gateway's host has no address, or the network leads nowhere.
        Unreachable = "GatewayUnreachable",
        /// The gateway did not answer in time.
        TimedOut = "GatewayTimedOut",
        /// The connection ended in the middle of an answer.
        ConnectionLost = "GatewayConnectionLost",
        /// One side speaks TLS and the other does not.
        TlsMismatch = "GatewayTLSMismatch",
        /// The gateway's certificate is not trusted, or is for another host.
        CertificateUntrusted = "GatewayCertificateUntrusted",
        /// The gateway does not know the API key (401).
        Unauthorized = "GatewayUnauthorized",
        /// The API key lacks a permission (403).
        Forbidden = "GatewayForbidden",
        /// The gateway has no such API (404).
        RouteNotFound = "GatewayRouteNotFound",
        /// The gateway has not been commissioned yet.
        NeedsCommissioning = "GatewayNeedsCommissioning",
        /// The gateway's address redirects to another one.
        Redirected = "GatewayRedirected",
        /// Something limits requests to the gateway (429).
        TooManyRequests = "GatewayTooManyRequests",
        /// The gateway did not become ready in time.
        GatewayStarting = "GatewayStarting",
        /// The gateway failed (5xx).
        ServerFault = "GatewayServerFault",
        /// The answer is not one of a gateway.
        UnexpectedAnswer = "GatewayUnexpectedAnswer",
        /// The answer is larger than any of a gateway.
        AnswerTooLarge = "GatewayAnswerTooLarge",
        /// Somebody else holds the gateway's scan lock.
        ScanLockHeld = "ScanLockHeld",
        /// The scan did not end in time.
        ScanTimedOut = "ScanTimedOut",
        /// A Designer is open, and the policy is to wait or to fail.
        DesignerSessionActive = "DesignerSessionActive",
        /// The gateway does not say whether a Designer is open, and the policy is to wait or to
        /// fail.
        DesignerStateUnknown = "DesignerStateUnknown",
        /// The run was asked to end.
        Cancelled = "Cancelled",
        /// This process could not begin to talk to the gateway.
        Internal = "Internal",
    }
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
