//! Where the value of an argument came from: a flag, or only an environment variable, which may be
//! meant for another program.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};

/// The arguments that the environment gave. It adds no flag of its own, and must be the first field
/// of its group: what is read from a command line is taken out of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct FromEnvironment(BTreeSet<String>);

/// A file, and who named it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Given<'a> {
    /// The file.
    pub(crate) path: &'a Path,
    /// Who named it.
    pub(crate) by: GivenBy,
    /// The flag or the variable.
    pub(crate) name: &'static str,
}

/// Who named a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GivenBy {
    /// The user, for this run.
    Flag,
    /// The place in which it runs.
    Environment,
}

/// A flag and its variable.
#[derive(Debug, Clone, Copy)]
pub(super) struct Names {
    pub(super) argument: &'static str,
    pub(super) flag: &'static str,
    pub(super) variable: &'static str,
}

impl FromEnvironment {
    /// The file of a flag, if there is one.
    pub(super) fn given<'a>(&self, path: Option<&'a PathBuf>, names: Names) -> Option<Given<'a>> {
        let (by, name) = if self.0.contains(names.argument) {
            (GivenBy::Environment, names.variable)
        } else {
            (GivenBy::Flag, names.flag)
        };
        Some(Given { path: path?, by, name })
    }
}

impl FromArgMatches for FromEnvironment {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let is_from_environment =
            |id: &&clap::Id| matches.value_source(id.as_str()) == Some(ValueSource::EnvVariable);
        Ok(Self(matches.ids().filter(is_from_environment).map(ToString::to_string).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for FromEnvironment {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}
