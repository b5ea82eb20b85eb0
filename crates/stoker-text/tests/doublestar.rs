//! Globs against vectors made with doublestar v4 (54 patterns by 59 paths).

use serde_json::Value;
use stoker_text::glob::Glob;

const VECTORS: &str = include_str!("vectors/doublestar.json");

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
