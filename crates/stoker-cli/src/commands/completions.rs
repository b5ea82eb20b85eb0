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

pub(crate) fn render(arguments: &Arguments, command: &mut clap::Command) -> String {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, command, "stoker", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}
