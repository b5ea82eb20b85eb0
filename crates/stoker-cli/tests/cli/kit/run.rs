//! How a run of the program ended, and what can be claimed of it. For these tests and for those
//! against a cluster.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use stoker_testkit::leak::Canary;
use stoker_testkit::process::Guarded;

/// How a run of the program ended.
#[derive(Debug)]
pub(crate) struct Run {
    /// The exit code; 128 + signal if one ended it.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Starts a command with both its streams piped.
pub(crate) fn spawn(mut command: Command) -> Guarded {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Guarded::spawn(command).unwrap()
}

impl Run {
    pub(crate) fn ended(command: Command) -> Self {
        Self::of(spawn(command).output().unwrap())
    }

    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
        let signal = || output.status.signal().map(|signal| 128 + signal);
        let code = output.status.code().or_else(signal).unwrap_or(-1);
        Self { code, stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// The one JSON object on standard output.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Claims that it says nothing of a secret.
    #[track_caller]
    pub(crate) fn hides(&self, canary: &Canary) {
        let told = [&self.stdout, &self.stderr];
        assert!(told.iter().all(|text| !canary.is_in(text.as_bytes())), "{self:#?}");
    }

    /// Claims that standard error has these words.
    #[track_caller]
    pub(crate) fn says(&self, words: &[&str]) {
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?}: {self:#?}");
        }
    }

    /// Claims the exit code, and shows everything where it is another.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }
}
