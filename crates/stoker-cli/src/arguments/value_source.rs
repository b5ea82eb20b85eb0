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
    pub(crate) path: &'a Path,
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

impl FromEnvironment {
    /// The file of a flag, if there is one. The flag without its dashes is clap's id of it.
    pub(super) fn given<'a>(
        &self,
        path: Option<&'a PathBuf>,
        flag: &'static str,
        variable: &'static str,
    ) -> Option<Given<'a>> {
        let id = flag.trim_start_matches('-').replace('-', "_");
        let (by, name) = if self.0.contains(&id) {
            (GivenBy::Environment, variable)
        } else {
            (GivenBy::Flag, flag)
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
