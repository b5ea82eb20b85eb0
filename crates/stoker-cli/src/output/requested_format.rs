//! The output format of a command line that could not be parsed.

use std::ffi::OsString;

use clap::ValueEnum as _;

use super::Format;

/// Short flags without a value, for all commands.
const SWITCHES: [char; 4] = ['v', 'q', 'h', 'V'];

/// The format in a command line, if there is one to be read.
pub(crate) fn requested_format(words: &[OsString]) -> Option<Format> {
    let mut words = words.iter().skip(1).map(|word| word.to_str().unwrap_or_default());
    while let Some(word) = words.next() {
        if word == "--" {
            return None; // no flags after it
        }
        let value = match word.strip_prefix("--") {
            Some("output") => words.clone().next(),
            Some(long) => long.strip_prefix("output="),
            None => match in_cluster(word) {
                Short::Format("") => words.clone().next(),
                Short::Format(value) => Some(value),
                Short::File => {
                    words.next();
                    None
                }
                Short::Other => None,
            },
        };
        if let Some(format) = value.and_then(|value| Format::from_str(value, false).ok()) {
            return Some(format);
        }
    }
    None
}

/// What a cluster of short flags ends with.
enum Short<'a> {
    /// `-o`, and the rest of the same word.
    Format(&'a str),
    /// `-f`, whose value is the next word.
    File,
    Other,
}

fn in_cluster(word: &str) -> Short<'_> {
    let Some(cluster) = word.strip_prefix('-') else { return Short::Other };
    let rest = cluster.trim_start_matches(SWITCHES);
    match rest.strip_prefix('o') {
        Some(value) => Short::Format(value.strip_prefix('=').unwrap_or(value)),
        None if rest == "f" => Short::File,
        None => Short::Other,
    }
}
