//! Two rules about the text of errors, kept by looking at the source.
//!
//! 1. Only the command line spells its flags. Other crates return a `Remedy`, because an operator
//!    has fields of the spec instead. Modules whose result is a command to paste are exempt.
//! 2. No code reads or rewrites the text of an error. The error carries the value instead.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};

use crate::{sizes, step};

/// The page that lists every flag, generated from the command line itself.
const FLAGS: &str = "docs/reference/cli.md";
/// Programs spell their own flags; tools of tests have no users.
const PROGRAMS: [&str; 5] =
    ["stoker-cli", "stoker-operator", "stoker-agent", "fake-gateway", "stoker-testkit"];
/// Modules of `stoker-core` whose result is commands that a person pastes into a shell.
const PASTED: [&str; 3] = ["doctor", "migrate", "view"];
/// What reads a text, or makes another one of it.
const READERS: [&str; 12] = [
    "contains",
    "ends_with",
    "find",
    "replace",
    "replacen",
    "rsplit_once",
    "split",
    "split_once",
    "starts_with",
    "strip_prefix",
    "strip_suffix",
    "trim_start_matches",
];

/// Fails where a rule is broken, and lists the places.
pub(crate) fn run() -> anyhow::Result<()> {
    let root = step::root();
    let page = fs::read_to_string(root.join(FLAGS)).context("failed to read the page of flags")?;
    let flags = flags_on(&page);
    let mut findings = Vec::new();
    for file in sizes::sources(&root.join("crates")) {
        let text = fs::read_to_string(&file).context("failed to read a source file")?;
        let name = file.strip_prefix(&root).unwrap_or(&file);
        findings.extend(judge(name, &text, &flags));
    }
    for finding in &findings {
        println!("{finding}");
    }
    if !findings.is_empty() {
        bail!("{} places break a rule about the text of errors", findings.len());
    }
    Ok(())
}

/// The flags that a page names.
fn flags_on(page: &str) -> BTreeSet<String> {
    let words = page.split(|char: char| !(char.is_ascii_lowercase() || char == '-'));
    let is_flag = |word: &&str| word.len() > 3 && word.starts_with("--") && !word.ends_with('-');
    words.filter(is_flag).map(str::to_owned).collect()
}

fn judge(name: &Path, text: &str, flags: &BTreeSet<String>) -> Vec<String> {
    let has = |words: &[&str]| {
        name.with_extension("").iter().any(|part| words.iter().any(|word| part == *word))
    };
    let is_exempt = has(&PROGRAMS) || has(&PASTED);
    let mut findings = Vec::new();
    let mut before = "";
    for (number, line) in sizes::without_tests(text).into_iter().enumerate() {
        let is_continued = std::mem::replace(&mut before, line).ends_with('\\');
        if line.trim_start().starts_with("//") {
            continue;
        }
        let place = format!("{}:{}", name.display(), number + 1);
        if let Some(flag) = flag_in(line, is_continued, flags).filter(|_| !is_exempt) {
            findings.push(format!("{place}: spells {flag}; return a Remedy instead"));
        }
        if reads_a_text(line) {
            findings.push(format!("{place}: reads the text of an error; carry the value instead"));
        }
    }
    findings
}

/// A flag in a sentence. An argument for another program stands alone in its literal.
fn flag_in<'a>(line: &'a str, is_continued: bool, flags: &BTreeSet<String>) -> Option<&'a str> {
    let starts = line.match_indices("--").map(|(at, _)| at);
    starts.filter(|at| *at > 0).find_map(|at| {
        let rest = &line[at..];
        let end = rest.find(|char: char| !(char.is_ascii_lowercase() || char == '-'));
        let (flag, after) = rest.split_at(end.unwrap_or(rest.len()));
        let before = line[..at].chars().next_back();
        let is_in_sentence = match before {
            Some(' ' | '(' | '`') => is_continued || line[..at].contains('"'),
            Some('"') => after.starts_with([' ', ':']),
            _ => false,
        };
        (is_in_sentence && flags.contains(flag)).then_some(flag)
    })
}

fn reads_a_text(line: &str) -> bool {
    READERS.iter().any(|reader| {
        ["error.to_string()", "failure.message", "warning.message", "hint"]
            .iter()
            .any(|text| line.contains(&format!("{text}.{reader}(")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(name: &str, line: &str) -> usize {
        let flags = flags_on("| `--token-file FILE` | … |\n| `-q, --quiet` | … | `--- |");
        judge(Path::new(name), line, &flags).len()
    }

    #[test]
    fn only_the_command_line_spells_its_flags() {
        let sentence = r#"    "give a token with --token-file".to_owned()"#;
        assert_eq!(findings("crates/stoker-git/src/error.rs", sentence), 1);
        assert_eq!(findings("crates/stoker-git/src/error.rs", r#"format!("--quiet: {error}")"#), 1);
        let continued = "    \"give a token with \\\n     --token-file\"";
        assert_eq!(findings("crates/stoker-git/src/error.rs", continued), 1);
        assert_eq!(findings("crates/stoker-cli/src/remedy.rs", sentence), 0);
        for fine in [
            r#"command.args(["fetch", "--quiet"])"#,
            r#"    "list the tags: git ls-remote --tags""#,
            "    // what --token-file names",
        ] {
            assert_eq!(findings("crates/stoker-git/src/error.rs", fine), 0, "{fine}");
        }
    }

    #[test]
    fn no_text_of_an_error_is_read() {
        let name = "crates/stoker-cli/src/explain.rs";
        assert_eq!(findings(name, r#"if error.to_string().contains("refused") {"#), 1);
        assert_eq!(findings(name, r#"failure.message.replace("a", "b")"#), 1);
        assert_eq!(findings(name, r#"path.to_string().contains("/")"#), 0);
    }

    #[test]
    fn our_sources_keep_both_rules() {
        run().unwrap();
    }
}
