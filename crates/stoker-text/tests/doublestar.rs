//! Globs against vectors made with doublestar v4 (54 patterns by 59 paths).

#![expect(clippy::unwrap_used, reason = "a vector that can't be read fails the test")]

use serde_json::Value;
use stoker_text::glob::Glob;

const VECTORS: &str = include_str!("vectors/doublestar.json");
/// Made by `vectors/generate` with doublestar v4.10.4.
const MORE_VECTORS: &str = include_str!("vectors/doublestar-more.json");

/// Deliberate deviations: the pattern, the path, our answer, and why.
const DEVIATIONS: &[(&str, &[&str], bool, &str)] = &[
    (r"\***/", &["*"], false, SEGMENT),
    ("{a,b}**/", &["b"], false, SEGMENT),
    ("{a/**,b}{,a/}", &["a/*/é/b"], true, BRACES),
    ("*[^a]*", &["a/aa", "a/a", "a/é", "aa/b", "a/ba"], false, CLASS),
    ("*[^a]**", &["a/aa", "a/a", "a/é", "aa/b", "a/ba"], false, CLASS),
];

const SEGMENT: &str = "`**` that is no whole segment is a plain star, also at the end of a path";
const BRACES: &str = "braces mean their alternatives, wherever they stand";
const CLASS: &str = "a class matches one character of a name, as upstream documents, never a slash";

fn deviates(pattern: &str, path: &str) -> bool {
    DEVIATIONS.iter().any(|(known, paths, ..)| *known == pattern && paths.contains(&path))
}

fn texts<'a>(vector: &'a Value, key: &str) -> Vec<&'a str> {
    vector[key].as_array().into_iter().flatten().map(|path| path.as_str().unwrap()).collect()
}

#[test]
fn every_vector_gives_the_same_answer() {
    let vectors: Vec<Value> = serde_json::from_str(VECTORS).unwrap();
    let mut wrong = Vec::new();
    let mut checked = 0;
    for vector in &vectors {
        let pattern = vector["pattern"].as_str().unwrap();
        let glob = match (Glob::parse(pattern), vector["valid"].as_bool().unwrap()) {
            (Ok(glob), true) => glob,
            (Err(_), false) => continue,
            (parsed, valid) => {
                wrong.push(format!("{pattern:?}: valid {valid}, parsed {parsed:?}"));
                continue;
            }
        };
        for (key, expected) in [("match", true), ("nomatch", false)] {
            for path in texts(vector, key) {
                checked += 1;
                if glob.matches(path.as_bytes()) != expected {
                    wrong.push(format!("{pattern:?} on {path:?} should be {expected}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!((vectors.len(), checked), (54, 49 * 59));
}

#[test]
fn every_further_vector_gives_the_same_answer_but_for_the_deviations() {
    let vectors: Value = serde_json::from_str(MORE_VECTORS).unwrap();
    let paths = texts(&vectors, "paths");
    let mut wrong = Vec::new();
    for vector in vectors["patterns"].as_array().unwrap() {
        let pattern = vector["pattern"].as_str().unwrap();
        let parsed = Glob::parse(pattern);
        assert_eq!(parsed.is_ok(), vector["valid"].as_bool().unwrap(), "{pattern:?}");
        let Ok(glob) = parsed else { continue };
        for (at, path) in paths.iter().enumerate() {
            let expected = vector["match"].as_array().unwrap().contains(&at.into());
            if glob.matches(path.as_bytes()) != (expected ^ deviates(pattern, path)) {
                wrong.push(format!("{pattern:?} on {path:?} upstream says {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_deviation_answers_as_the_table_says() {
    for (pattern, paths, ours, reason) in DEVIATIONS {
        for path in *paths {
            let answer = Glob::parse(pattern).unwrap().matches(path.as_bytes());
            assert_eq!(answer, *ours, "{pattern:?} on {path:?}: {reason}");
        }
    }
}
