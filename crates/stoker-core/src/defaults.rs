//! Cluster-wide defaults: what counts for a GatewaySync that does not say otherwise.
//!
//! [`Defaults::apply`] is the one function that merges them. Webhook, controller and `render` give
//! its result to everything that follows, so that nothing else knows about defaults.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use stoker_api::gatewaysync::{GatewaySyncSpec, Overrides};
use stoker_api::word::Interval;

use crate::profile::{Invalid, check_defaults};

/// Cluster-wide defaults.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Defaults {
    #[serde(skip_serializing_if = "is_default")]
    polling: Polling,
    #[serde(skip_serializing_if = "is_default")]
    git: Git,
    #[serde(skip_serializing_if = "is_default")]
    sync: Sync,
    /// Which lines the operator logs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_level: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
struct Polling {
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
struct Git {
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
struct Sync {
    #[serde(skip_serializing_if = "is_default")]
    defaults: Overrides,
}

/// Why a text is not a set of defaults.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It has another shape.
    #[error(
        "it does not have the shape {{polling: {{interval}}, git: {{timeout}}, sync: {{defaults: {{…}}}}, logLevel}}"
    )]
    Shape(#[source] serde_json::Error),
    /// It has a key that means nothing.
    #[error("{0:?} is not a default: remove the key, or correct its spelling")]
    Unknown(String),
    /// A value is not valid.
    #[error("{0}")]
    Value(#[source] Invalid),
}

impl Defaults {
    /// Reads and validates defaults.
    pub fn parse(value: &Value) -> Result<Self, Error> {
        if value.is_null() {
            return Ok(Self::default());
        }
        let read: Self = serde_json::from_value(value.clone()).map_err(Error::Shape)?;
        let kept = serde_json::to_value(&read).map_err(Error::Shape)?;
        if let Some(key) = lost(value, &kept) {
            return Err(Error::Unknown(key));
        }
        read.check().map_err(Error::Value)?;
        Ok(read)
    }

    fn check(&self) -> Result<(), Invalid> {
        check_defaults(&self.sync.defaults, |fault| {
            if let Some(Err(error)) =
                self.polling.interval.as_deref().map(Interval::parse_repeating)
            {
                fault("polling.interval", error.to_string());
            }
            match self.git.timeout.as_deref().map(Interval::parse) {
                Some(Err(error)) => fault("git.timeout", error.to_string()),
                Some(Ok(time)) if time.as_duration().is_zero() => {
                    fault("git.timeout", "must be longer than 0, for example 30s".to_owned());
                }
                Some(Ok(_)) | None => {}
            }
        })
    }

    /// Says whether a GatewaySync stays as it is.
    pub fn is_empty(&self) -> bool {
        let Self { polling, git, sync, log_level: _ } = self;
        is_default(polling) && is_default(git) && is_default(sync)
    }

    /// Merges the defaults into a spec. What the spec says counts, field by field; its
    /// `excludePatterns` replace those of the defaults, its variables merge with theirs by name.
    pub fn apply(&self, spec: &mut GatewaySyncSpec) {
        if let Some(interval) = &self.polling.interval {
            let polling = spec.polling.get_or_insert_default();
            polling.interval.get_or_insert_with(|| interval.clone());
        }
        if let Some(timeout) = &self.git.timeout {
            spec.git.timeout.get_or_insert_with(|| timeout.clone());
        }
        if is_default(&self.sync) {
            return;
        }
        let own = spec.sync.get_or_insert_default().defaults.get_or_insert_default();
        *own = merged(&self.sync.defaults, own);
    }
}

fn merged(defaults: &Overrides, own: &Overrides) -> Overrides {
    let vars = match (&defaults.vars, &own.vars) {
        (None, None) => None,
        (some, more) => Some(some.iter().chain(more).flatten().map(pair).collect()),
    };
    Overrides {
        exclude_patterns: own
            .exclude_patterns
            .clone()
            .or_else(|| defaults.exclude_patterns.clone()),
        vars,
        sync_period: own.sync_period.or(defaults.sync_period),
        designer_session_policy: own.designer_session_policy.or(defaults.designer_session_policy),
        designer_session_timeout: own
            .designer_session_timeout
            .clone()
            .or_else(|| defaults.designer_session_timeout.clone()),
        drift_policy: own.drift_policy.or(defaults.drift_policy),
        max_delete_percent: own.max_delete_percent.or(defaults.max_delete_percent),
        dry_run: own.dry_run.or(defaults.dry_run),
        paused: own.paused.or(defaults.paused),
    }
}

fn pair((name, value): (&String, &String)) -> (String, String) {
    (name.clone(), value.clone())
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Finds a key that did not survive reading. A key without a value, or with nothing below it, says
/// nothing and may go.
fn lost(given: &Value, kept: &Value) -> Option<String> {
    let says_nothing = |value: &Value| match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    let Value::Object(fields) = given else { return None };
    fields.iter().filter(|(_, value)| !says_nothing(value)).find_map(|(key, value)| {
        let below = kept.get(key);
        let found = match below {
            None if value.is_object() => lost(value, &Value::Null),
            None => Some(String::new()),
            Some(below) => lost(value, below),
        };
        found.map(|rest| if rest.is_empty() { key.clone() } else { format!("{key}.{rest}") })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::profile::Profiles;
    use crate::testing::plant;

    fn defaults() -> Defaults {
        Defaults::parse(&json!({
            "polling": { "interval": "5m" },
            "git": { "timeout": "2m" },
            "sync": { "defaults": {
                "excludePatterns": ["**/*.bak"],
                "vars": { "site": "north", "line": "1" },
                "syncPeriod": 60,
            } },
            "logLevel": "debug",
        }))
        .unwrap()
    }

    #[test]
    fn a_spec_that_says_nothing_gets_the_defaults() {
        let mut spec = plant().build().spec;
        defaults().apply(&mut spec);
        assert_eq!(spec.polling.clone().unwrap().interval.as_deref(), Some("5m"));
        assert_eq!(spec.git.timeout.as_deref(), Some("2m"));
        let profiles = Profiles::of(&spec.sync.unwrap()).unwrap();
        let profile = &profiles.as_map()["default"];
        assert_eq!(profile.exclude_patterns, ["**/*.bak", "**/.resources/**"]);
        assert_eq!((profile.sync_period, &*profile.vars["site"]), (60, "north"));
    }

    #[test]
    fn what_a_spec_says_counts_and_variables_merge_by_name() {
        let mut spec = plant().polling("1m").build().spec;
        spec.git.timeout = Some("10s".into());
        let own = json!({ "excludePatterns": ["own"], "vars": { "line": "2" }, "syncPeriod": 5 });
        spec.sync.as_mut().unwrap().defaults = Some(serde_json::from_value(own).unwrap());
        defaults().apply(&mut spec);
        assert_eq!(spec.polling.clone().unwrap().interval.as_deref(), Some("1m"));
        assert_eq!(spec.git.timeout.as_deref(), Some("10s"));
        let profiles = Profiles::of(&spec.sync.unwrap()).unwrap();
        let profile = &profiles.as_map()["default"];
        assert_eq!(profile.exclude_patterns, ["own", "**/.resources/**"]);
        assert_eq!((&*profile.vars["line"], &*profile.vars["site"]), ("2", "north"));
        assert_eq!(profile.sync_period, 5);
    }

    #[test]
    fn no_defaults_change_nothing() {
        let before = plant().build().spec;
        let mut spec = before.clone();
        for empty in [Value::Null, json!({}), json!({ "sync": {}, "logLevel": "warn" })] {
            let defaults = Defaults::parse(&empty).unwrap();
            assert!(defaults.is_empty());
            defaults.apply(&mut spec);
        }
        assert_eq!(spec, before);
    }

    #[test]
    fn what_means_nothing_or_is_invalid_is_refused_by_name() {
        for (value, named) in [
            (json!({ "pollling": { "interval": "5m" } }), "\"pollling.interval\""),
            (
                json!({ "sync": { "defaults": { "syncperiod": 9 } } }),
                "\"sync.defaults.syncperiod\"",
            ),
            (json!({ "polling": { "interval": "1s" } }), "polling.interval"),
            (json!({ "git": { "timeout": "0s" } }), "git.timeout"),
            (json!({ "sync": { "defaults": { "syncPeriod": 1 } } }), "sync.defaults.syncPeriod"),
            (json!({ "sync": { "defaults": { "vars": { "a-b": "" } } } }), "vars.a-b"),
            (json!([1]), "shape"),
        ] {
            let error = Defaults::parse(&value).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
