//! `stoker reference`: every flag as a page of Markdown, from the same source as `--help`.
//!
//! The command is hidden: `cargo xtask generate` calls it for the page in `docs/`.

mod codes;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command};

/// Print every flag as Markdown
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct Arguments {}

pub(crate) fn render(mut command: Command) -> String {
    command.build();
    let mut page = "# Flags and codes of the command line\n\n\
        What each command is for, and what scripts can rely on, is in [The command line](../cli.md).\n\n\
        ## Every command\n\n"
        .to_owned();
    table(&mut page, command.get_arguments());
    let mut described = Vec::new();
    for command in commands(&command) {
        section(&mut page, command, &mut described);
    }
    codes::tables(&mut page);
    page
}

/// A group of flags that several commands share, and the first of them.
struct Group {
    heading: String,
    flags: Vec<String>,
    command: String,
}

/// Returns the commands that are not hidden, without `help`.
pub(crate) fn commands(command: &Command) -> impl Iterator<Item = &Command> {
    let is_told = |command: &&Command| !command.is_hide_set() && command.get_name() != "help";
    command.get_subcommands().filter(is_told)
}

/// Flags that were described under an earlier command are only named here.
fn section(page: &mut String, command: &Command, described: &mut Vec<Group>) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    write!(page, "\n## `{name}`\n\n{}.\n", plain(&about)).ok();
    if let Some(examples) = command.get_after_help().map(ToString::to_string) {
        let lines = examples.lines().filter_map(|line| line.strip_prefix("  "));
        let lines: Vec<&str> = lines.collect();
        write!(page, "\n```sh\n{}\n```\n", lines.join("\n")).ok();
    }
    let own = || command.get_arguments().filter(|argument| !argument.is_global_set());
    let mut headings: Vec<Option<&str>> = Vec::new();
    for heading in own().filter(|argument| !is_usual(argument)).map(Arg::get_help_heading) {
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    let mut again: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut new = Vec::new();
    for heading in headings {
        let arguments = || own().filter(|argument| argument.get_help_heading() == heading);
        let Some(heading) = heading else {
            page.push('\n');
            table(page, arguments());
            continue;
        };
        let flags: Vec<String> = arguments().map(flag).collect();
        let first = described.iter().find(|group| group.heading == heading && group.flags == flags);
        if let Some(group) = first {
            again.entry(&group.command).or_default().push(heading);
            continue;
        }
        write!(page, "\n### {heading}\n\n").ok();
        table(page, arguments());
        new.push(Group { heading: heading.to_owned(), flags, command: name.to_owned() });
    }
    for (command, headings) in again {
        write!(page, "\nAlso the flags of `{command}`: {}.\n", headings.join(", ")).ok();
    }
    described.extend(new);
}

fn table<'a>(page: &mut String, arguments: impl Iterator<Item = &'a Arg>) {
    page.push_str("| flag | what it does | default | environment |\n|---|---|---|---|\n");
    for argument in arguments.filter(|argument| !is_usual(argument)) {
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        // Defaults that depend on something are in the text, written as clap writes the others.
        let (help, written) = match help.split_once(" [default: ") {
            Some((help, default)) => (help.to_owned(), default.trim_end_matches(']').to_owned()),
            None => (help, String::new()),
        };
        let defaults = argument.get_default_values().iter().map(|value| value.to_string_lossy());
        let default = defaults.collect::<Vec<_>>().join(" ");
        // A switch that is off by default says so by being a switch.
        let is_value = argument.get_action().takes_values();
        let default =
            if is_value && !default.is_empty() { code(&default) } else { plain(&written) };
        let variable = argument.get_env().map(|name| code(&name.to_string_lossy()));
        let values = values(argument);
        let (help, variable) = (plain(&help), variable.unwrap_or_default());
        writeln!(page, "| {} | {help}{values} | {default} | {variable} |", flag(argument)).ok();
    }
}

/// Every command has these.
fn is_usual(argument: &Arg) -> bool {
    let action = argument.get_action();
    matches!(
        action,
        ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
    )
}

fn flag(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    let is_value = argument.get_action().takes_values();
    let value = names.first().filter(|_| is_value).map(|name| format!(" {name}"));
    let value = value.unwrap_or_default();
    match (argument.get_short(), argument.get_long()) {
        (Some(short), Some(long)) => code(&format!("-{short}, --{long}{value}")),
        (None, Some(long)) => code(&format!("--{long}{value}")),
        _ => code(value.trim()),
    }
}

fn values(argument: &Arg) -> String {
    if !argument.get_action().takes_values() {
        return String::new();
    }
    let values = argument.get_possible_values();
    let values: Vec<String> = values.iter().map(|value| code(value.get_name())).collect();
    if values.is_empty() { String::new() } else { format!(": {}", values.join(", ")) }
}

fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

/// Text that means what it says: no markup.
fn plain(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        if matches!(char, '|' | '<' | '>' | '*' | '_' | '`' | '[' | ']' | '\\') {
            escaped.push('\\');
        }
        escaped.push(char);
    }
    escaped
}
