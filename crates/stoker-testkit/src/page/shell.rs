//! A shell in which the commands of a page run.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Section;

/// How commands that only Ctrl-C ends are run: beside the others, from their first output on, and
/// ended after the last command.
const ENDLESS: &str = r#"
endless() {
    local output
    output="$(mktemp)"
    "$@" >"$output" 2>&1 &
    endless+=("$! $output")
    until [ -s "$output" ]; do
        kill -0 $! || { cat "$output"; return 1; }
        sleep 0.1
    done
}
end_endless() {
    local pid output
    for it in "${endless[@]}"; do
        read -r pid output <<<"$it"
        kill -TERM "$pid"
        wait "$pid" || test $? = 143
        cat "$output"
        rm "$output"
    done
}
endless=()
"#;

/// Where commands run.
#[derive(Debug, Clone)]
pub struct Shell {
    directory: PathBuf,
    prelude: String,
}

/// Commands that ended.
#[derive(Debug)]
pub struct Ran {
    /// The exit code of the first that failed, or 0.
    pub code: i32,
    /// What they printed, errors too.
    pub output: String,
}

impl Shell {
    /// A shell in this directory.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), prelude: String::new() }
    }

    /// Runs these commands first, each time.
    #[must_use]
    pub fn after(mut self, commands: &str) -> Self {
        self.prelude.push_str(commands);
        self.prelude.push('\n');
        self
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Runs commands until one fails.
    ///
    /// # Panics
    /// When there is no `bash`.
    pub fn run(&self, script: &str) -> Ran {
        let script = format!("{}{script}", self.prelude);
        let (mut reader, writer) = io::pipe().expect("a pipe");
        let mut shell = Command::new("bash");
        shell.args(["-euo", "pipefail", "-c", &script]).current_dir(&self.directory);
        shell.stdin(Stdio::null());
        shell.stdout(writer.try_clone().expect("a second handle")).stderr(writer);
        let mut child = shell.spawn().expect("bash is on this machine");
        drop(shell); // with our handles of the pipe, or its end would never come
        let mut output = Vec::new();
        reader.read_to_end(&mut output).expect("the pipe is readable");
        let code = child.wait().expect("bash ends").code().unwrap_or(-1);
        Ran { code, output: String::from_utf8_lossy(&output).into_owned() }
    }

    /// Runs the commands of a section and returns what they printed, which must be what the page
    /// shows.
    ///
    /// # Panics
    /// When a command fails or prints something else.
    pub fn follow(&self, section: &Section) -> String {
        self.follow_to(section, 0)
    }

    /// The same for commands of which the last ends with this exit code.
    ///
    /// # Panics
    /// When a command ends otherwise, or prints something else than the page shows.
    pub fn follow_to(&self, section: &Section, code: i32) -> String {
        let failed = r#"trap 'echo "this command failed: $BASH_COMMAND"' ERR"#;
        let script = format!("{ENDLESS}{failed}\n{}end_endless\n", bounded(&section.script));
        let ran = self.run(&script);
        let Section { title, script, .. } = section;
        assert_eq!(ran.code, code, "{title}: {script}{}", ran.output);
        if let Some(line) = section.missing(&ran.output) {
            panic!("{title}: {script}does not print {line:?} but\n{}", ran.output);
        }
        ran.output
    }
}

/// Marks commands that only Ctrl-C ends.
fn bounded(script: &str) -> String {
    let is_endless = |line: &str| {
        let is_watcher = ["stoker watch ", "stoker dev "].iter().any(|it| line.starts_with(it));
        is_watcher || line.split(' ').any(|word| ["--watch", "--follow"].contains(&word))
    };
    let lines = script.lines().map(|line| {
        let mark = if is_endless(line) { "endless " } else { "" };
        format!("{mark}{line}\n")
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(script: &str, shown: &[&str]) -> Section {
        let shown = shown.iter().map(|&line| line.to_owned()).collect();
        Section { script: script.to_owned(), shown, ..Section::default() }
    }

    #[test]
    fn commands_run_in_one_shell_until_one_fails() {
        let shell = Shell::new("/").after("greeting=hello");
        assert_eq!(shell.follow(&section("a=$greeting\necho $a\n", &["hello"])), "hello\n");
        let output = shell.follow_to(&section("echo before; (exit 3)\necho behind\n", &[]), 3);
        assert!(output.starts_with("before\n") && !output.contains("behind"), "{output}");
    }

    #[test]
    fn a_command_that_only_ctrl_c_ends_runs_beside_the_others() {
        let script = "bash -c 'echo first; sleep 60' --watch\necho second\n";
        let output = Shell::new("/").follow(&section(script, &["second", "first"]));
        assert_eq!(output, "second\nfirst\n");
    }

    #[test]
    fn a_command_that_fails_or_prints_something_else_is_reported() {
        let shell = Shell::new("/");
        let follow = |script, shown: &[&str]| {
            let section = section(script, shown);
            std::panic::catch_unwind(|| shell.follow(&section)).is_err()
        };
        assert!(follow("false\n", &[]));
        assert!(follow("echo one\n", &["two"]));
        assert!(follow("bash -c 'exit 1' --watch\n", &[]));
        assert!(!follow("echo one\n", &["one"]));
    }
}
