//! Flags of the data directory and of the rules for it.

use std::path::PathBuf;
use std::time::Duration;

use stoker_run::RelPath;

use super::{duration, gateway_name};

/// Flags of the mappings and of the data directory.
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line are bools")]
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Files")]
pub(crate) struct TargetArguments {
    /// Path in the repository and its destination below the data directory (repeatable; later ones
    /// win); . is the root on either side
    #[arg(long, value_name = "SRC:DST", value_parser = Map::parse)]
    pub(crate) map: Vec<Map>,
    /// The gateway's data directory
    #[arg(long, value_name = "DIR", env = "DATA_PATH", hide_env_values = true)]
    pub(crate) data: PathBuf,
    /// Create the data directory if it is missing
    #[arg(long)]
    pub(crate) create: bool,
    /// Paths to exclude, such as "**/*.bak" (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,
    /// Variable for templates, read there as .Vars.K (repeatable)
    #[arg(long = "var", value_name = "K=V", value_parser = Variable::parse)]
    pub(crate) vars: Vec<Variable>,
    /// Name of the gateway, for templates
    #[arg(long, value_name = "NAME", value_parser = gateway_name, env = "GATEWAY_NAME", hide_env_values = true)]
    pub(crate) gateway_name: Option<String>,
    /// Compare all managed files by content, not by size and time
    #[arg(long, conflicts_with = "no_drift")]
    pub(crate) verify: bool,
    /// Do not check for files that were changed on the gateway
    #[arg(long)]
    pub(crate) no_drift: bool,
    /// Symbolic link in the data directory to write through, such as projects (repeatable); it must
    /// lead to a directory
    #[arg(long, value_name = "DEST", value_parser = link)]
    pub(crate) follow: Vec<RelPath>,
    /// Confirm a large deletion for this run, also of files that no sync brought and of files of
    /// another repository
    #[arg(long)]
    pub(crate) allow_mass_delete: bool,
    /// How long to wait for another run on the same directory
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30s")]
    pub(crate) lock_timeout: Duration,
}

/// A path below the data directory.
fn link(text: &str) -> Result<RelPath, String> {
    match RelPath::parse(text) {
        Ok(path) if path.is_root() => Err("names no link in the data directory".to_owned()),
        path => path.map_err(|error| error.to_string()),
    }
}

/// One `--map`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Map {
    /// Path in the repository.
    pub(crate) source: String,
    /// Path below the data directory.
    pub(crate) destination: String,
}

/// One `--var`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variable {
    /// An identifier.
    pub(crate) key: String,
    /// Anything.
    pub(crate) value: String,
}

impl Map {
    /// Splits at the last colon: a source may have one, a destination on a gateway can't.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let Some((source, destination)) = text.rsplit_once(':') else {
            return Err(
                "has no colon; write SRC:DST, such as services/site/projects:projects".into()
            );
        };
        if destination.is_empty() {
            return Err("has no destination after the colon; . is the data directory itself".into());
        }
        let source = if source.is_empty() { "." } else { source };
        Ok(Self { source: source.to_owned(), destination: destination.to_owned() })
    }
}

impl Variable {
    /// Splits at the first equals sign: a value may have more.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').ok_or("has no equals sign; write K=V")?;
        if !stoker_api::word::is_identifier(key) {
            return Err(format!("{key:?} is not an identifier: letters, digits and _ only"));
        }
        Ok(Self { key: key.to_owned(), value: value.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_split_at_its_last_colon() {
        let map = |text| Map::parse(text).map(|map| (map.source, map.destination));
        let pair = |source: &str, destination: &str| Ok((source.into(), destination.into()));
        assert_eq!(map("a:b"), pair("a", "b"));
        assert_eq!(map("odd:name:b/"), pair("odd:name", "b/"));
        assert_eq!(map(":b"), pair(".", "b"));
        assert_eq!(map(".:."), pair(".", "."));
        assert!(map("a").is_err());
        assert!(map("a:").is_err());
    }

    #[test]
    fn a_variable_is_split_at_its_first_equals_sign() {
        let variable = Variable::parse("URL=a=b").unwrap();
        assert_eq!((variable.key.as_str(), variable.value.as_str()), ("URL", "a=b"));
        assert!(Variable::parse("my-var=1").unwrap_err().contains("my-var"));
    }
}
