//! Runs `git fast-import`: one process writes any number of commits and files.

mod stream;

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::Stdio;

use super::{Edit, Error, Oid, run};
use crate::process::Guarded;

pub(super) use stream::{PERSON, date};

/// Trades a little size for a lot of time, and never holds a big blob in memory.
const FAST: [&str; 4] = ["-c", "core.compression=1", "-c", "core.bigFileThreshold=1m"];

/// Without these the C library gives memory back and takes it again for every blob: two thirds of
/// the time of a big import.
const STEADY_HEAP: [(&str, &str); 2] =
    [("MALLOC_TOP_PAD_", "16777216"), ("MALLOC_TRIM_THRESHOLD_", "268435456")];

/// Where commits are to go.
#[derive(Debug)]
pub(super) struct Import<'a> {
    /// The repository.
    pub(super) path: &'a Path,
    /// Full name of the ref that moves, also if it loses history.
    pub(super) reference: &'a str,
    /// The commit before the first, if there is one.
    pub(super) parent: Option<&'a Oid>,
    /// Number of the first commit within the repository: decides the dates.
    pub(super) tick: u64,
}

impl Import<'_> {
    /// Writes one commit per edit and returns their ids.
    pub(super) fn run<E: Into<Edit>>(
        &self,
        edits: impl IntoIterator<Item = E>,
    ) -> Result<Vec<Oid>, Error> {
        let marks = self.path.join("stoker-marks");
        let mut import = self.start(&marks)?;
        let written = match import.take_stdin() {
            Some(stdin) => self.write(BufWriter::with_capacity(1 << 16, stdin), edits),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        let output = import.output().map_err(|source| Error::Talk { program: "git", source })?;
        // Git's own words first: where it failed, our broken pipe is only the consequence.
        run::check("git fast-import", output)?;
        written.map_err(|source| Error::Talk { program: "git", source })?;
        read_marks(&marks)
    }

    fn start(&self, marks: &Path) -> Result<Guarded, Error> {
        let mut git = run::command(self.path)?;
        git.args(FAST).args(["fast-import", "--quiet", "--force", "--depth=0"]);
        git.envs(STEADY_HEAP);
        git.arg(format!("--export-marks={}", marks.display()));
        git.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        Guarded::spawn(git).map_err(|source| Error::Start { program: "git", source })
    }

    fn write<E: Into<Edit>>(
        &self,
        mut out: impl Write,
        edits: impl IntoIterator<Item = E>,
    ) -> io::Result<()> {
        for (index, edit) in edits.into_iter().enumerate() {
            let place = stream::Place {
                reference: self.reference,
                parent: self.parent.filter(|_| index == 0),
                tick: self.tick + index as u64,
                mark: index + 1,
            };
            stream::write_commit(&mut out, &place, &edit.into())?;
        }
        out.flush()
    }
}

/// Returns the ids in the order of their marks: one `:mark id` per line, in any order.
fn read_marks(file: &Path) -> Result<Vec<Oid>, Error> {
    let text = std::fs::read_to_string(file).map_err(Error::file(file))?;
    let by_mark: HashMap<&str, &str> =
        text.lines().filter_map(|line| line.strip_prefix(':')?.split_once(' ')).collect();
    (1..=by_mark.len())
        .map(|mark| Oid::parse(by_mark.get(mark.to_string().as_str()).unwrap_or(&"")))
        .collect()
}
