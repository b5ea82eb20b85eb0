//! How long each phase of a run took.

use std::time::Duration;

use serde::{Serialize, Serializer};

/// All phases always, zero where nothing happened.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Durations {
    #[serde(serialize_with = "milliseconds")]
    pub(crate) resolve: Duration,
    #[serde(serialize_with = "milliseconds")]
    pub(crate) fetch: Duration,
    #[serde(serialize_with = "milliseconds")]
    pub(crate) plan: Duration,
    #[serde(serialize_with = "milliseconds")]
    pub(crate) apply: Duration,
    #[serde(serialize_with = "milliseconds")]
    pub(crate) gateway: Duration,
    #[serde(serialize_with = "milliseconds")]
    pub(crate) total: Duration,
}

fn milliseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}
