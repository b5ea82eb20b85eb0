//! `stoker completions`.

use clap_complete::Shell;

const EXAMPLE: &str = "\
Example:
  stoker completions bash > /etc/bash_completion.d/stoker";

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Arguments {
    /// The shell
    shell: Shell,
}

/// Prints them.
pub(crate) fn run(arguments: &Arguments, command: &mut clap::Command) {
    clap_complete::generate(arguments.shell, command, "stoker", &mut std::io::stdout());
}
