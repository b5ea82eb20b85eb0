//! What errors say, compared as a whole with a file in `expected/`.
//!
//! To change an error: reword it, run `STOKER_UPDATE=1 cargo test -p stoker-cli --test cli errors::`,
//! and read the diff.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use stoker_testkit::tree::Tree;

use crate::kit::manifest;
use crate::kit::result::has_every_key;
use crate::kit::world::{Run, World};

/// The errors of one subject.
pub(super) struct Table {
    name: &'static str,
    text: String,
    /// Values that differ from run to run, and their placeholders in the file.
    hidden: Vec<(String, &'static str)>,
}

impl Table {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, text: String::new(), hidden: Vec::new() }
    }

    /// Writes a placeholder in the place of a value.
    pub(super) fn hide(&mut self, value: &(impl ToString + ?Sized), placeholder: &'static str) {
        self.hidden.push((value.to_string(), placeholder));
    }

    /// A run of `sync` that must fail and change no file.
    #[track_caller]
    pub(super) fn sync(&mut self, title: &str, world: &World, url: &str, more: &[&str]) {
        self.words(title, world, world.words("sync", url, more));
    }

    /// The same of a run with a `-f` file.
    #[track_caller]
    pub(super) fn file(&mut self, title: &str, world: &World, yaml: &str, more: &[&str]) {
        let before = files(world);
        let run = manifest::run(world, yaml, &[more, &["-o", "json"]].concat());
        assert_eq!(files(world), before, "{title}");
        self.take(title, world, &run);
    }

    /// The same of any command.
    #[track_caller]
    pub(super) fn words<Word: AsRef<OsStr>>(
        &mut self,
        title: &str,
        world: &World,
        words: impl IntoIterator<Item = Word>,
    ) {
        let before = files(world);
        let words: Vec<Word> = words.into_iter().collect();
        let format = ["-o".as_ref(), "json".as_ref()].into_iter();
        let run = world.stoker(words.iter().map(AsRef::as_ref).chain(format));
        assert_eq!(files(world), before, "{title}");
        self.take(title, world, &run);
    }

    /// Takes a run with `-o json` that has failed.
    #[track_caller]
    pub(super) fn take(&mut self, title: &str, world: &World, run: &Run) {
        let result = run.json();
        has_every_key(&result);
        let error = &result["error"];
        assert_eq!(result["status"], "failed", "{title}: {run:#?}");
        assert!(error["hint"].is_string(), "{title}: no hint: {run:#?}");
        assert!(!format!("{run:?}").contains("hunter2"), "{title}: a password is shown: {run:#?}");
        let reason = error["reason"].as_str().unwrap_or_default();
        let mut said: String = run.stderr.lines().map(without_surroundings).collect();
        for (value, placeholder) in &self.hidden {
            said = said.replace(value, placeholder);
        }
        said = said.replace(world.root().to_str().unwrap(), "$ROOT");
        write!(self.text, "# {title}: exit {}, {reason}\n{said}\n", run.code).unwrap();
    }

    /// Compares the table with its file.
    #[track_caller]
    pub(super) fn matches(self) {
        let name = format!("tests/cli/errors/expected/{}.txt", self.name);
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(&name);
        if std::env::var_os("STOKER_UPDATE").is_some() {
            fs::write(&path, &self.text).unwrap();
            return;
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        let (expected, actual) = (cases(&expected), cases(&self.text));
        let wrong: Vec<&str> =
            actual.iter().filter(|case| !expected.contains(case)).copied().collect();
        assert!(
            expected == actual,
            "{name} has other words (see errors/table.rs):\n{}",
            wrong.join("\n")
        );
    }
}

/// A line without the time of `watch`, and without the words of curl's TLS library.
fn without_surroundings(line: &str) -> String {
    let is_timed = line.get(10..11) == Some("T") && line.get(19..21) == Some("Z ");
    let line = if is_timed { &line[21..] } else { line };
    match line.split_once(": unable to access ") {
        Some((ours, _)) => format!("{ours}: <the words of curl>\n"),
        None => format!("{line}\n"),
    }
}

fn cases(text: &str) -> Vec<&str> {
    text.split("\n\n").collect()
}

/// What must not change: the data directory without Stoker's own files.
fn files(world: &World) -> Option<Tree> {
    Some(Tree::read(&world.data()).ok()?.without(".stoker"))
}
