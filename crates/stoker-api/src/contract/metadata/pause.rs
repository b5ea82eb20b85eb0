//! What paused the agents of a GatewaySync.

use std::convert::Infallible;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use crate::contract::cap;
use crate::limit;

const SPEC: &str = "spec";
const EMERGENCY: &str = "emergency";

/// What paused the agents of a GatewaySync: `spec`, or `emergency: <reason>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PausedBy {
    /// `spec.paused`.
    Spec,
    /// The ConfigMap `stoker-pause`.
    Emergency {
        /// The reason that it gives; empty where it gives none.
        reason: String,
    },
}

impl Display for PausedBy {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spec => formatter.write_str(SPEC),
            Self::Emergency { reason } if reason.is_empty() => formatter.write_str(EMERGENCY),
            Self::Emergency { reason } => {
                write!(formatter, "{EMERGENCY}: {}", cap::text(reason, limit::REPORT_MESSAGE_BYTES))
            }
        }
    }
}

/// Every text is read: an agent must never miss a pause because of the words around it.
impl FromStr for PausedBy {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let rest = text.strip_prefix(EMERGENCY);
        Ok(match rest {
            Some(rest) => Self::Emergency { reason: rest.trim_start_matches(": ").to_owned() },
            None => Self::Spec,
        })
    }
}
