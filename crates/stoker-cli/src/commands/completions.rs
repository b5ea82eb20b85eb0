//! `stoker completions`.

use clap_complete::Shell;

/// Print completions for a shell
///
/// Example: `stoker completions bash > /etc/bash_completion.d/stoker`
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The shell
    shell: Shell,
}

/// Prints them.
pub(crate) fn run(arguments: &Arguments, command: &mut clap::Command) {
    clap_complete::generate(arguments.shell, command, "stoker", &mut std::io::stdout());
}
