//! The commands, from the command line to the exit code.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::commands::{
    bootstrap, completions, demo, dev, doctor, logs, migrate, pause, plan, reference, render,
    status, sync, sync_now, watch,
};
use crate::failure::{Blame, Failure};
use crate::output::{self, Console, Format, Volume};
use crate::signal::Interruption;

/// Keep Ignition gateways in step with git
#[derive(Debug, Parser)]
#[command(name = "stoker", version, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// How results are printed
    #[arg(short, long, value_name = "FORMAT", global = true, value_enum, default_value_t = Format::Table)]
    output: Format,
    /// Print more: -v every changed path, -vv also what is being done
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
    /// Print nothing but errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
}

impl Arguments {
    /// Reads a command line. A variable that is empty counts as unset.
    fn read(words: &[OsString]) -> Result<Self, clap::Error> {
        let is_empty = |name: &OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
        let without = |argument: Arg| match argument.get_env() {
            Some(name) if is_empty(name) => argument.env(Resettable::Reset),
            _ => argument,
        };
        let command = Self::command().mut_subcommands(|command| command.mut_args(without));
        let matches = command.try_get_matches_from(words).map_err(without_hidden)?;
        Self::from_arg_matches(&matches)
    }
}

/// The same error, without the hidden commands.
fn without_hidden(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::Strings(names)) = error.get(ContextKind::ValidSubcommand) {
        let names = names.iter().filter(|name| *name != "reference").cloned().collect();
        error.insert(ContextKind::ValidSubcommand, ContextValue::Strings(names));
    }
    error
}

#[derive(Debug, Subcommand)]
enum Command {
    Sync(sync::Arguments),
    Watch(watch::Arguments),
    Plan(plan::Arguments),
    Dev(dev::Arguments),
    Demo(demo::Arguments),
    Status(status::Arguments),
    Doctor(doctor::Arguments),
    SyncNow(sync_now::Arguments),
    Pause(pause::PauseArguments),
    Resume(pause::ResumeArguments),
    Render(render::Arguments),
    Logs(logs::Arguments),
    Migrate(migrate::Arguments),
    Bootstrap(bootstrap::Arguments),
    Completions(completions::Arguments),
    Reference(reference::Arguments),
}

impl Command {
    const NAMES: [&str; 16] = [
        "sync",
        "watch",
        "plan",
        "dev",
        "demo",
        "status",
        "doctor",
        "sync-now",
        "pause",
        "resume",
        "render",
        "logs",
        "migrate",
        "bootstrap",
        "completions",
        "reference",
    ];
}

/// What the commands share.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    /// Where and how results are printed.
    pub(crate) console: Console,
    /// Signals, as far as one came.
    pub(crate) interruption: Interruption,
}

/// Runs a command line.
pub(crate) fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.into_iter().collect();
    let arguments = match Arguments::read(&words) {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&harmless(error, &words), &words),
    };
    let volume = match (arguments.quiet, arguments.verbose) {
        (true, _) => Volume::Quiet,
        (false, 0) => Volume::Usual,
        (false, 1) => Volume::Paths,
        (false, _) => Volume::Everything,
    };
    let console = Console::new(arguments.output, volume, named(&words).unwrap_or_default());
    let context = Context { console, interruption: Interruption::listen() };
    let result = match &arguments.command {
        Command::Sync(arguments) => sync::run(arguments, &context),
        Command::Watch(arguments) => watch::run(arguments, &context),
        Command::Plan(arguments) => plan::run(arguments, &context),
        Command::Dev(arguments) => dev::run(arguments, &context),
        Command::Demo(arguments) => demo::run(arguments, &context),
        Command::Status(arguments) => status::run(arguments, &context),
        Command::Doctor(arguments) => doctor::run(arguments, &context),
        Command::SyncNow(arguments) => sync_now::run(arguments, &context),
        Command::Pause(arguments) => pause::pause(arguments, &context),
        Command::Resume(arguments) => pause::resume(arguments, &context),
        Command::Render(arguments) => render::run(arguments, &context),
        Command::Logs(arguments) => logs::run(arguments, &context),
        Command::Migrate(arguments) => migrate::run(arguments, &context),
        Command::Bootstrap(arguments) => bootstrap::run(arguments, &context),
        Command::Completions(arguments) => {
            context.console.page(&completions::render(arguments, &mut Arguments::command()));
            Ok(ExitCode::SUCCESS)
        }
        Command::Reference(_) => {
            context.console.page(&reference::render(Arguments::command()));
            Ok(ExitCode::SUCCESS)
        }
    };
    let code = result.unwrap_or_else(|failure| {
        let failure = context.interruption.judge(failure);
        context.console.failure(&failure);
        match failure.blame {
            Blame::Usage => ExitCode::from(2),
            Blame::World => ExitCode::FAILURE,
        }
    });
    let code = if context.console.is_lost() { ExitCode::FAILURE } else { code };
    context.interruption.exit_code().map_or(code, ExitCode::from)
}

/// The command that a command line names, if it is one: only flags for all commands come before it.
fn named(words: &[OsString]) -> Option<&'static str> {
    let is_named = |name: &&&str| words.iter().skip(1).any(|word| word == **name);
    let place = |name: &&str| words.iter().skip(1).position(|word| word == *name);
    Command::NAMES.iter().filter(is_named).min_by_key(|name| place(name)).copied()
}

/// The same error with escaped words, safe on a terminal.
fn harmless(error: clap::Error, words: &[OsString]) -> clap::Error {
    let safe = words.iter().map(|word| output::word(word));
    Arguments::read(&safe.collect::<Vec<_>>()).err().unwrap_or(error)
}

/// Prints a command line that can't be parsed, or help and version. An error is printed in the
/// requested format, if that could be read.
fn refuse(error: &clap::Error, words: &[OsString]) -> ExitCode {
    let format = output::requested_format(words).unwrap_or(Format::Table);
    let command = named(words).filter(|_| error.kind() != ErrorKind::InvalidSubcommand);
    let console = Console::new(format, Volume::Usual, command.unwrap_or_default());
    if error.use_stderr() && format != Format::Table {
        let text = error.to_string();
        // The first paragraph: what is wrong, and with which flags. Usage and tips come below it.
        let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
        let message = lines.collect::<Vec<_>>().join(" ");
        console.failure(&Failure::usage(message.trim_start_matches("error: ")));
    } else {
        console.parsed(error);
    }
    match u8::try_from(error.exit_code()) {
        Ok(0) if console.is_lost() => ExitCode::FAILURE,
        code => code.map_or(ExitCode::FAILURE, ExitCode::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_is_for_a_terminal_and_shows_how_it_is_done() {
        let mut command = Arguments::command();
        command.build();
        for command in reference::commands(&command) {
            let help = command.clone().render_long_help().to_string();
            assert!(!help.contains('`'), "markup in the help of {}: {help}", command.get_name());
            assert!(help.contains("\n  stoker "), "no example: {help}");
        }
    }

    #[test]
    fn every_command_has_its_name() {
        let command = Arguments::command();
        let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(names, Command::NAMES);
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(named(&words("stoker -o json plan --ref sync")), Some("plan"));
        assert_eq!(named(&words("plan -o json --bad")), None);
    }

    #[test]
    fn every_flag_of_a_remedy_exists() {
        let mut command = Arguments::command();
        command.build();
        let commands = || command.get_subcommands().flat_map(clap::Command::get_arguments);
        for remedy in crate::remedy::each() {
            let hint = crate::remedy::hint(&remedy);
            for flag in
                hint.split([' ', ';', ',', ')', ':']).filter_map(|word| word.strip_prefix("--"))
            {
                let is_known = commands().any(|argument| argument.get_long() == Some(flag));
                assert!(is_known, "no --{flag}: {hint}");
            }
        }
    }

    #[test]
    fn every_flag_is_on_the_page_of_flags() {
        let page = reference::render(Arguments::command());
        let mut command = Arguments::command();
        command.build();
        for argument in reference::commands(&command).flat_map(clap::Command::get_arguments) {
            let Some(long) = argument.get_long() else { continue };
            let is_usual = ["help", "version"].contains(&long);
            assert!(is_usual || page.contains(&format!("--{long}")), "no --{long}");
        }
        for command in reference::commands(&command) {
            assert!(page.contains(&format!("## `stoker {}`", command.get_name())));
        }
    }
}
