//! What follows from an error: its reason, and what a caller does about files and the next attempt.

use stoker_api::condition::Reason;

use super::Error;

/// What a caller does about the files when the gateway's API fails before they are in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consequence {
    /// Nothing may be written: a person must act first, or a policy forbids it.
    WriteNothing,
    /// The files land, the scan is owed.
    ScanOwed,
}

impl Error {
    /// Returns why, for machines.
    pub fn reason(&self) -> Reason {
        match self {
            Self::InvalidUrl { .. } => Reason::GatewayAddressInvalid,
            Self::ReadAuthorities { .. } | Self::UnusableAuthorities { .. } => {
                Reason::GatewayCertificatesUnusable
            }
            Self::StartRuntime { .. } => Reason::Internal,
            Self::NoKey | Self::ReadKey { .. } => Reason::GatewayKeyMissing,
            Self::UnusableKey { .. } => Reason::GatewayKeyUnusable,
            Self::ConnectionRefused { .. } => Reason::GatewayConnectionRefused,
            Self::Unreachable { .. } => Reason::GatewayUnreachable,
            Self::TimedOut { .. } => Reason::GatewayTimedOut,
            Self::ConnectionLost { .. } => Reason::GatewayConnectionLost,
            Self::TlsMismatch { .. } => Reason::GatewayTlsMismatch,
            Self::Untrusted { .. } => Reason::GatewayCertificateUntrusted,
            Self::Unauthorized { .. } => Reason::GatewayUnauthorized,
            Self::Forbidden { .. } => Reason::GatewayForbidden,
            Self::NotFound { .. } => Reason::GatewayRouteNotFound,
            Self::NeedsCommissioning { .. } | Self::NotCommissioned { .. } => {
                Reason::GatewayNeedsCommissioning
            }
            Self::Redirected { .. } => Reason::GatewayRedirected,
            Self::TooManyRequests { .. } => Reason::GatewayTooManyRequests,
            Self::Starting { .. } | Self::NotReady { .. } => Reason::GatewayStarting,
            Self::ServerFault { .. } => Reason::GatewayServerFault,
            Self::UnexpectedStatus { .. } | Self::NotJson { .. } | Self::Malformed { .. } => {
                Reason::GatewayUnexpectedAnswer
            }
            Self::TooLarge { .. } => Reason::GatewayAnswerTooLarge,
            Self::LockHeld { .. } | Self::LockTimedOut { .. } => Reason::ScanLockHeld,
            Self::ScanTimedOut { .. } => Reason::ScanTimedOut,
            Self::DesignerSessionActive { .. } => Reason::DesignerSessionActive,
            Self::DesignerStateUnknown { .. } => Reason::DesignerStateUnknown,
            Self::Cancelled => Reason::Cancelled,
        }
    }

    /// Returns what it means for files that are not in place yet.
    pub fn consequence(&self) -> Consequence {
        match self {
            Self::InvalidUrl { .. }
            | Self::ReadAuthorities { .. }
            | Self::UnusableAuthorities { .. }
            | Self::StartRuntime { .. }
            | Self::NoKey
            | Self::ReadKey { .. }
            | Self::UnusableKey { .. }
            | Self::Unauthorized { .. }
            | Self::Forbidden { .. }
            | Self::LockHeld { .. }
            | Self::LockTimedOut { .. }
            | Self::DesignerSessionActive { .. }
            | Self::DesignerStateUnknown { .. }
            | Self::Cancelled => Consequence::WriteNothing,
            Self::ConnectionRefused { .. }
            | Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::ConnectionLost { .. }
            | Self::TlsMismatch { .. }
            | Self::Untrusted { .. }
            | Self::NotFound { .. }
            | Self::NeedsCommissioning { .. }
            | Self::NotCommissioned { .. }
            | Self::Redirected { .. }
            | Self::TooManyRequests { .. }
            | Self::Starting { .. }
            | Self::NotReady { .. }
            | Self::ServerFault { .. }
            | Self::UnexpectedStatus { .. }
            | Self::NotJson { .. }
            | Self::Malformed { .. }
            | Self::TooLarge { .. }
            | Self::ScanTimedOut { .. } => Consequence::ScanOwed,
        }
    }
}
