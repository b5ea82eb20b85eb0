//! The page that lists what must hold under faults and attack, with the tests that prove it.
//!
//! `promises/list.tsv` defines the ids. A test proves a promise when a comment directly above it
//! begins with the id: `// A1, R27: kill at every step`. A comment that cites an undefined id is an
//! error, so that a reader can look up every id in this page. So is an id that no test names unless
//! the list says why. A reason that begins with `partly: ` belongs to a promise that tests name: it
//! says which part they leave out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};

use crate::step;

const LIST: &str = include_str!("promises/list.tsv");

const INTRODUCTION: &str = "\
# Promises

What must hold under faults, load and hostile input. A comment above a test names the promises that the test
proves, so this page is derived from the tests. The last two sections list what the tests of a promise leave out, and what
no test names, and why.
";

const TABLE: &str = "| id | fault or input | what holds | tests |\n|---|---|---|---|";

/// How the reason of a promise begins that tests prove in part.
const PARTLY: &str = "partly: ";

/// How many tests a row names.
const SHOWN: usize = 3;

/// The directories whose tests count.
const ROOTS: &[&str] = &["crates", "e2e", "bench"];

struct Promise {
    id: &'static str,
    fault: &'static str,
    holds: &'static str,
    /// Why no test names it.
    why_untested: Option<&'static str>,
    /// What the tests that name it leave out, and why.
    left_out: Option<&'static str>,
}

/// Which tests cite which promise.
#[derive(Debug, Default)]
struct Citations {
    /// Id to tests, as `package: test`.
    tests: BTreeMap<String, BTreeSet<String>>,
    /// Ids without a definition, each with the file that cites it.
    undefined: BTreeSet<String>,
}

/// Builds the page.
pub(crate) fn page() -> anyhow::Result<String> {
    let sections = parse(LIST);
    let ids: BTreeSet<&str> =
        sections.iter().flat_map(|(_, rows)| rows).map(|row| row.id).collect();
    let mut citations = Citations::default();
    for root in ROOTS {
        scan_directory(&step::root().join(root), &ids, &mut citations)?;
    }
    if !citations.undefined.is_empty() {
        let cited: Vec<_> = citations.undefined.into_iter().collect();
        bail!("ids without a line in xtask/src/promises/list.tsv: {}", cited.join(", "));
    }
    check_reasons(&sections, &citations.tests)?;
    Ok(render(&sections, &citations.tests))
}

/// Refuses an id that has neither a test nor a reason, one that has both, and one that is partly
/// proven by no test.
fn check_reasons(
    sections: &[(&str, Vec<Promise>)],
    tests: &BTreeMap<String, BTreeSet<String>>,
) -> anyhow::Result<()> {
    for (is_named, said) in [
        (false, "no test names these ids, and xtask/src/promises/list.tsv does not say why"),
        (true, "a test names these ids, and xtask/src/promises/list.tsv says why none does"),
    ] {
        let rows = sections.iter().flat_map(|(_, rows)| rows);
        let wrong = rows.filter(|row| {
            tests.contains_key(row.id) == is_named && row.why_untested.is_some() == is_named
        });
        let wrong: Vec<_> = wrong.map(|row| row.id).collect();
        ensure!(wrong.is_empty(), "{said}: {}", wrong.join(", "));
    }
    let rows = sections.iter().flat_map(|(_, rows)| rows);
    let wrong = rows.filter(|row| row.left_out.is_some() && !tests.contains_key(row.id));
    let wrong: Vec<_> = wrong.map(|row| row.id).collect();
    let said =
        "no test names these ids, and xtask/src/promises/list.tsv says that they are proven partly";
    ensure!(wrong.is_empty(), "{said}: {}", wrong.join(", "));
    Ok(())
}

fn render(sections: &[(&str, Vec<Promise>)], tests: &BTreeMap<String, BTreeSet<String>>) -> String {
    let mut page = INTRODUCTION.to_owned();
    let (mut partly, mut open) = (String::new(), String::new());
    for (title, rows) in sections {
        let (proven, unproven): (Vec<_>, Vec<_>) =
            rows.iter().partition(|row| tests.contains_key(row.id));
        if !proven.is_empty() {
            writeln!(page, "\n## {title}\n\n{TABLE}").ok();
        }
        for row in proven {
            let Promise { id, fault, holds, left_out, .. } = row;
            let mark = if left_out.is_some() { ", partly: see below" } else { "" };
            writeln!(page, "| {id} | {fault} | {holds} | {}{mark} |", named(&tests[*id])).ok();
            if let Some(left_out) = left_out {
                writeln!(partly, "- **{id}** {left_out}").ok();
            }
        }
        for row in unproven {
            let why = row.why_untested.map(|why| format!(". *{why}*")).unwrap_or_default();
            writeln!(open, "- **{}** {}: {}{why}", row.id, row.fault, row.holds).ok();
        }
    }
    page.push_str("\n## What the tests leave out\n\n");
    page.push_str(&partly);
    page.push_str("\n## Not named by a test\n\n");
    page.push_str(&open);
    page
}

fn named(tests: &BTreeSet<String>) -> String {
    let shown: Vec<_> = tests.iter().take(SHOWN).map(|test| format!("`{test}`")).collect();
    let more = tests.len().saturating_sub(SHOWN);
    let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}

/// Reads the list: `# title` begins a section, other lines are `id TAB fault TAB what holds`, and
/// where no test names it `TAB why`, where tests prove it in part `TAB partly: what they leave out`.
fn parse(list: &'static str) -> Vec<(&'static str, Vec<Promise>)> {
    let mut sections: Vec<(&str, Vec<Promise>)> = Vec::new();
    for line in list.lines() {
        if let Some(title) = line.strip_prefix("# ") {
            sections.push((title, Vec::new()));
            continue;
        }
        let mut columns = line.split('\t');
        if let (Some(id), Some(fault), Some(holds), Some((_, rows))) =
            (columns.next(), columns.next(), columns.next(), sections.last_mut())
        {
            let reason = columns.next();
            let left_out = reason.and_then(|reason| reason.strip_prefix(PARTLY));
            let why_untested = reason.filter(|_| left_out.is_none());
            rows.push(Promise { id, fault, holds, why_untested, left_out });
        }
    }
    sections
}

fn scan_directory(
    directory: &Path,
    ids: &BTreeSet<&str>,
    citations: &mut Citations,
) -> anyhow::Result<()> {
    let entries = fs::read_dir(directory)
        .with_context(|| format!("failed to list {}", directory.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            scan_directory(&path, ids, citations)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path)
                .with_context(|| format!("failed to read {}", path.display()))?;
            let shown = path.strip_prefix(step::root()).unwrap_or(&path).display().to_string();
            scan_file(&shown, &text, ids, citations);
        }
    }
    Ok(())
}

/// Collects the citations of one file. Only comments count.
fn scan_file(path: &str, text: &str, ids: &BTreeSet<&str>, citations: &mut Citations) {
    let mut above: Vec<String> = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("//") {
            let cited = words(comment).filter(|word| looks_like_id(word));
            let undefined = cited.filter(|word| !ids.contains(word));
            citations.undefined.extend(undefined.map(|word| format!("{word} ({path})")));
            above.extend(leading_ids(comment, ids));
        } else if let Some(name) = function_name(line) {
            for id in above.drain(..) {
                citations.tests.entry(id).or_default().insert(format!("{}: {name}", package(path)));
            }
        } else if !line.starts_with('#') {
            above.clear();
        }
    }
}

/// The ids that a comment begins with: `A1, R27: kill at every step` has two.
fn leading_ids(comment: &str, ids: &BTreeSet<&str>) -> Vec<String> {
    words(comment).take_while(|word| ids.contains(word)).map(str::to_owned).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_')
        .filter(|word| !word.is_empty())
}

/// One capital letter of the list and one or two digits.
fn looks_like_id(word: &str) -> bool {
    let mut letters = word.chars();
    let is_section =
        letters.next().is_some_and(|letter| matches!(letter, 'A'..='I' | 'K' | 'R' | 'S'));
    let digits = letters.as_str();
    is_section
        && (1..=2).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn function_name(line: &str) -> Option<&str> {
    let rest = line.split("fn ").nth(1)?;
    let is_function = ["fn ", "pub", "async fn "].iter().any(|start| line.starts_with(start));
    rest.split(['(', '<']).next().filter(|_| is_function)
}

/// `crates/stoker-sync/src/lock.rs` belongs to `stoker-sync`, `e2e/node/…` to `e2e/node`.
fn package(path: &str) -> String {
    let mut parts = path.split('/');
    match (parts.next(), parts.next()) {
        (Some("crates"), Some(name)) => name.to_owned(),
        (Some(root), Some(name)) => format!("{root}/{name}"),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &str) -> Citations {
        let ids = BTreeSet::from(["A1", "R27"]);
        let mut citations = Citations::default();
        scan_file("crates/stoker-sync/src/lib.rs", text, &ids, &mut citations);
        citations
    }

    #[test]
    fn a_test_proves_the_promises_that_the_comment_above_it_begins_with() {
        let found = scan("// A1, R27: kill at every step.\n#[test]\nfn survives() {\n");
        let expected = BTreeSet::from(["stoker-sync: survives".to_owned()]);
        assert_eq!(found.tests["A1"], expected);
        assert_eq!(found.tests["R27"], expected);
    }

    #[test]
    fn a_comment_inside_a_function_proves_nothing() {
        assert!(scan("// A1\nlet a = 1;\nfn other() {\n").tests.is_empty());
    }

    #[test]
    fn an_id_that_the_list_does_not_define_is_found() {
        let undefined = scan("//! About Z9 and A99.\n").undefined;
        assert_eq!(undefined, BTreeSet::from(["A99 (crates/stoker-sync/src/lib.rs)".to_owned()]));
    }

    #[test]
    fn an_id_has_a_test_or_a_reason_and_not_both() {
        let sections = parse("# Files\nA1\tkill\tstays\nR27\terror\tjournal\tnot built yet\n");
        let named = |ids: &[&str]| -> BTreeMap<String, BTreeSet<String>> {
            ids.iter().map(|id| ((*id).to_owned(), BTreeSet::new())).collect()
        };
        assert!(check_reasons(&sections, &named(&["A1"])).is_ok());
        for (ids, wrong) in [(&[][..], "A1"), (&["A1", "R27"], "R27")] {
            let refused = check_reasons(&sections, &named(ids)).unwrap_err().to_string();
            assert!(refused.ends_with(&format!(": {wrong}")), "{refused}");
        }
    }

    #[test]
    fn what_tests_leave_out_is_listed_and_needs_a_test() {
        let sections = parse("# Files\nA1\tkill\tstays\tpartly: not at every step.\n");
        let tests = BTreeMap::from([("A1".to_owned(), BTreeSet::from(["a: b".to_owned()]))]);
        assert!(check_reasons(&sections, &tests).is_ok());
        let refused = check_reasons(&sections, &BTreeMap::new()).unwrap_err().to_string();
        assert!(refused.ends_with(": A1"), "{refused}");
        let page = render(&sections, &tests);
        assert!(page.contains("| A1 | kill | stays | `a: b`, partly: see below |"), "{page}");
        assert!(page.contains("- **A1** not at every step.\n"), "{page}");
    }

    #[test]
    fn every_id_is_defined_once() {
        let sections = parse(LIST);
        let ids: Vec<_> = sections.iter().flat_map(|(_, rows)| rows).map(|row| row.id).collect();
        let unique: BTreeSet<_> = ids.iter().collect();
        assert_eq!(ids.len(), unique.len());
        assert!(ids.len() > 200, "{}", ids.len());
    }
}
