//! Files and functions past the second column of the style guide's table of sizes.
//!
//! Past 400 lines a file must say why, in a line of its module text that begins with `//! Long:`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::step;

const FILE: usize = 400;
const FUNCTION: usize = 60;
const MAIN: usize = 40;
const REASON: &str = "//! Long:";

/// Lists them, and fails when one gives no reason.
pub(crate) fn run() -> anyhow::Result<()> {
    let root = step::root();
    let mut findings = Vec::new();
    for directory in ["bench", "crates", "xtask", "e2e", "fuzz"] {
        for file in sources(&root.join(directory)) {
            let text = fs::read_to_string(&file).context("failed to read a source file")?;
            let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
            findings.extend(judge(&name, &text));
        }
    }
    for finding in &findings {
        println!("{}", finding.text);
    }
    let unexplained = findings.iter().filter(|finding| !finding.explained).count();
    if unexplained > 0 {
        bail!("{unexplained} without a reason (a module line that begins with `{REASON}`)");
    }
    Ok(())
}

/// Something longer than we like.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    text: String,
    explained: bool,
}

pub(crate) fn sources(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut files = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test(&path) {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Tests are as long as what they claim.
fn is_test(path: &Path) -> bool {
    path.ends_with("tests.rs")
        || path.ends_with("testing.rs")
        || path
            .components()
            .any(|part| part.as_os_str() == "tests" || part.as_os_str() == "benches")
}

fn judge(name: &str, text: &str) -> Vec<Finding> {
    let code = without_tests(text);
    let explained = code.iter().any(|line| line.starts_with(REASON));
    let limit = if name.ends_with("main.rs") { MAIN } else { FILE };
    let mut findings = Vec::new();
    if code.len() > limit {
        let text = format!("{name}: {} lines (look at {limit})", code.len());
        findings.push(Finding { text, explained });
    }
    for (line, length) in functions(&code).into_iter().filter(|(_, length)| *length > FUNCTION) {
        let text = format!("{name}:{line}: function of {length} lines (look at {FUNCTION})");
        findings.push(Finding { text, explained });
    }
    findings
}

/// The lines before the tests, if they are in the same file.
pub(crate) fn without_tests(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    let is_test_module = |pair: &[&str]| {
        pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
    };
    let end = lines.windows(2).position(is_test_module).unwrap_or(lines.len());
    lines[..end].to_vec()
}

/// First line and length of each function, read off rustfmt's own layout: a function ends at the
/// first closing brace in its own column.
fn functions(code: &[&str]) -> Vec<(usize, usize)> {
    let starts = code.iter().enumerate().filter(|(_, line)| is_function(line));
    starts
        .filter_map(|(start, line)| {
            let indent = line.len() - line.trim_start().len();
            let closing = format!("{}}}", " ".repeat(indent));
            // A method of a trait may have no body.
            let body = code[start..].iter().position(|line| line.ends_with(['{', '}', ';']))?;
            if code[start + body].ends_with(';') {
                return None;
            }
            let length = code[start..].iter().position(|line| *line == closing)?;
            Some((start + 1, length + 1))
        })
        .collect()
}

fn is_function(line: &str) -> bool {
    let words = line.trim_start();
    !words.starts_with("//")
        && !words.ends_with(';')
        && !words.ends_with('}')
        && words.split_whitespace().take(5).any(|word| word == "fn")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_needs_a_reason() {
        let long = "x\n".repeat(401);
        assert!(!judge("a.rs", &long)[0].explained);
        assert!(judge("a.rs", &format!("//! Long: a table\n{long}"))[0].explained);
    }

    #[test]
    fn only_tests_in_the_file_itself_are_left_out() {
        let [long, tests] = ["x\n".repeat(401), "#[cfg(test)]\nmod tests".to_owned()];
        assert!(judge("a.rs", &format!("{tests} {{\n{long}")).is_empty());
        assert_eq!(judge("a.rs", &format!("{tests};\n{long}")).len(), 1);
    }

    #[test]
    fn a_method_without_a_body_has_no_length() {
        let text = format!("    fn a(\n        &self,\n    );\n{}    }}\n", "    ///\n".repeat(90));
        assert_eq!(judge("a.rs", &text).len(), 0);
    }

    #[test]
    fn a_function_ends_at_its_own_brace() {
        let text = format!("    fn a() {{\n{}    }}\n", "        {\n        }\n".repeat(30));
        assert_eq!(functions(&text.lines().collect::<Vec<_>>()), [(1, 62)]);
    }
}
