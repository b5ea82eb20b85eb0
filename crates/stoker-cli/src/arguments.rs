//! Groups of flags that several commands share.

mod gateway;
mod repository;
mod target;

pub(crate) use gateway::GatewayArguments;
pub(crate) use repository::RepositoryArguments;
pub(crate) use target::{Map, TargetArguments};

use std::time::Duration;

use stoker_api::word::Interval;

/// `30s`, `5m`, `1h30m`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    Interval::parse(text).map(Interval::as_duration).map_err(|error| error.to_string())
}
