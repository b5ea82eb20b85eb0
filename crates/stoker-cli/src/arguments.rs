//! Groups of flags that several commands share.

mod cluster;
mod gateway;
mod repository;
mod target;
mod value_source;

pub(crate) use cluster::{ClusterArguments, ScopeArguments, api};
pub(crate) use gateway::GatewayArguments;
pub(crate) use repository::RepositoryArguments;
pub(crate) use target::{Map, TargetArguments};
pub(crate) use value_source::{Given, GivenBy};

use std::time::Duration;

use stoker_api::limit;
use stoker_api::word::Interval;

/// `30s`, `5m`, `1h30m`; `0` for not at all.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    Interval::parse(text).map(Interval::as_duration).map_err(|error| error.to_string())
}

/// A duration longer than zero.
pub(crate) fn positive_duration(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("must be longer than 0, for example 30s".to_owned()),
        time => Ok(time),
    }
}

/// A polling interval. As in a cluster, it has a minimum.
pub(crate) fn interval(text: &str) -> Result<Duration, String> {
    let interval = Interval::parse_repeating(text).map_err(|error| error.to_string());
    interval.map(Interval::as_duration)
}

/// The name of a gateway, as long as a cluster would take it.
pub(crate) fn gateway_name(text: &str) -> Result<String, String> {
    match text.chars().count() {
        0 => Err("a gateway's name can't be empty".to_owned()),
        1..=limit::GATEWAY_NAME => Ok(text.to_owned()),
        count => {
            let most = limit::GATEWAY_NAME;
            Err(format!("a gateway's name has at most {most} characters, this has {count}"))
        }
    }
}
