//! Logs: one line per happening, as JSON or as text, on standard error.
//!
//! The filter is a list of targets with levels (`info`, `info,kube=debug`). Regular expressions
//! over fields are not supported: they would cost the agent memory. [`set_filter`] replaces it while
//! the program runs. Lines of the audit trail pass no filter. [`name_cluster`] adds the cluster to
//! every JSON line, for those who collect the logs of several.

use std::io::{self, Write as _};
use std::str::FromStr;
use std::sync::OnceLock;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Registry, reload};

/// The filter of this process, once logs are set up.
static FILTER: OnceLock<reload::Handle<Targets, Registry>> = OnceLock::new();

/// How JSON lines begin, once the cluster has a name.
static CLUSTER: OnceLock<String> = OnceLock::new();

/// How a log line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "arguments", derive(clap::ValueEnum))]
pub enum Format {
    /// One JSON object per line.
    #[default]
    Json,
    /// Text for people.
    Text,
}

/// Which lines are written.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter(Targets);

/// Standard error. A line comes in one piece.
struct Output;

/// Why logs could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The filter can't be read.
    #[error(
        "{text:?} is not a log filter: write a level, or targets with levels, for example info,kube=debug"
    )]
    InvalidFilter {
        /// The filter as it was given.
        text: String,
    },
    /// Another subscriber is in place.
    #[error("logs were already set up")]
    AlreadySet,
}

/// The arguments for logs.
#[cfg(feature = "arguments")]
#[derive(Debug, Clone, clap::Args)]
#[group(id = "telemetry")]
pub struct Arguments {
    /// Log lines as JSON or as text
    #[arg(long, env = "STOKER_LOG_FORMAT", value_name = "FORMAT", default_value = "json")]
    pub log_format: Format,

    /// Which lines are logged: a level, or targets with levels such as `info,kube=debug`
    #[arg(long, env = "STOKER_LOG_LEVEL", value_name = "FILTER", default_value = "info")]
    pub log_level: Filter,
}

#[cfg(feature = "arguments")]
impl Arguments {
    /// Sets logs up for the whole process.
    pub fn init(&self) -> Result<(), Error> {
        init(self.log_format, &self.log_level)
    }
}

impl Default for Filter {
    fn default() -> Self {
        Self(Targets::new().with_default(LevelFilter::INFO))
    }
}

impl FromStr for Filter {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let targets = Targets::from_str(text);
        targets.map(Self).map_err(|_| Error::InvalidFilter { text: text.to_owned() })
    }
}

/// Sets logs up for the whole process.
pub fn init(format: Format, filter: &Filter) -> Result<(), Error> {
    let registry = tracing_subscriber::registry();
    let layer = tracing_subscriber::fmt::layer().with_writer(|| Output);
    let (filter, handle) = reload::Layer::new(filter.0.clone());
    let result = match format {
        Format::Json => {
            let layer = layer.json().flatten_event(true).with_current_span(false);
            let layer = layer.with_span_list(false).with_filter(filter);
            registry.with(layer).try_init()
        }
        Format::Text => registry.with(layer.with_ansi(false).with_filter(filter)).try_init(),
    };
    result.map_err(|_| Error::AlreadySet)?;
    FILTER.set(handle).map_err(|_| Error::AlreadySet)
}

/// Replaces the filter, where logs are set up.
pub fn set_filter(filter: &Filter) {
    if let Some(handle) = FILTER.get() {
        // It fails only when the subscriber is gone, and then there is nothing to log.
        handle.reload(filter.0.clone()).ok();
    }
}

/// Gives every JSON line from now on the field `cluster`. The first name counts.
pub fn name_cluster(name: &str) {
    CLUSTER.get_or_init(|| begin_of(name));
}

fn begin_of(cluster: &str) -> String {
    let cluster = serde_json::Value::from(cluster);
    format!("{{\"cluster\":{cluster},")
}

/// Writes a line that was formatted elsewhere, such as an audit line, in one piece. A line that
/// can't be written is lost, like any log line.
pub fn write_line(line: &str) {
    Output.write_all(format!("{line}\n").as_bytes()).ok();
}

impl io::Write for Output {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match (CLUSTER.get(), line.strip_prefix(b"{")) {
            (Some(begin), Some(rest)) => io::stderr().write_all(&[begin.as_bytes(), rest].concat()),
            _ => io::stderr().write_all(line),
        }?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_targets_are_filters_and_other_text_is_refused() {
        for good in ["info", "debug", "warn,kube=debug", "off"] {
            assert!(good.parse::<Filter>().is_ok(), "{good}");
        }
        let error = "stoker=loud".parse::<Filter>().unwrap_err();
        assert!(error.to_string().starts_with("\"stoker=loud\" is not a log filter"), "{error}");
    }

    #[test]
    fn any_name_of_a_cluster_leaves_a_line_json() {
        for name in ["north", "a \"quoted\" name", "line\nbreak", "Zürich"] {
            let line = format!("{}\"level\":\"INFO\"}}", begin_of(name));
            let line: serde_json::Value = serde_json::from_str(&line).unwrap();
            assert_eq!(line, serde_json::json!({ "cluster": name, "level": "INFO" }));
        }
    }
}
