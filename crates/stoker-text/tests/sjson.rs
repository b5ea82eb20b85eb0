//! JSON edits against vectors made with tidwall/sjson.

#![expect(clippy::unwrap_used, reason = "a vector that can't be read fails the test")]

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use stoker_text::json::{self, PatchValue};

const VECTORS: &str = include_str!("vectors/sjson.json");
/// Made by `vectors/generate` with sjson v1.2.5.
const MORE_VECTORS: &str = include_str!("vectors/sjson-more.json");

/// A deliberate deviation: the document, the path, what we do, and why.
struct Deviation(&'static str, &'static str, Option<&'static str>, &'static str);

const WILDCARD: &str = "sjson ignores the patch, or hits some member: a silent no-op helps nobody";
const EMPTY: &str = "a stray dot would turn the value into a list or add a member without a name";
const INDENT: &str = "sjson glues the member to the last line and drops what follows the document";
const ESCAPES: &str = "sjson escapes <, > and & for HTML; a patch writes what it was given";

const MODIFIER: &str = "sjson ignores the patch: an @ in a name is nothing special here";
const APPEND: &str = "-1 makes a list, whether the value was missing or a scalar stood there";
const NAME: &str = "a part with a colon is a name, and a list has no names";

const DEVIATIONS: &[Deviation] = &[
    Deviation(
        "{\n  \"a\": 1,\n  \"b\": 1.0\n}\n",
        "c",
        Some("{\n  \"a\": 1,\n  \"b\": 1.0,\n  \"c\": \"x\"\n}\n"),
        INDENT,
    ),
    Deviation(
        "{\n  \"a\": {\n    \"b\": 1\n  }\n}",
        "a.c.d",
        Some("{\n  \"a\": {\n    \"b\": 1,\n    \"c\": {\"d\": true}\n  }\n}"),
        INDENT,
    ),
    Deviation("{\"a\":[1,2]}", "a.#", None, WILDCARD),
    Deviation("{\"a\":[{\"id\":1},{\"id\":2}]}", "a.#(id==2).x", None, WILDCARD),
    Deviation("{\"a\":1}", "*", None, WILDCARD),
    Deviation("{\"a\":1}", "a|b", None, WILDCARD),
    Deviation("{\"a\":1}", "a?", None, WILDCARD),
    Deviation(
        "{\"x\":{\"y\":[1,{\"z\":\"w\"}]}}",
        "x.y.1.z",
        Some("{\"x\":{\"y\":[1,{\"z\":\"new\\\"q\\n<é>&\"}]}}"),
        ESCAPES,
    ),
    Deviation("{\"a\":1}", "@this", Some("{\"a\":1,\"@this\":7}"), MODIFIER),
    Deviation("{\"a\":1}", "a@b", Some("{\"a\":1,\"a@b\":\"s\"}"), MODIFIER),
    Deviation("{\"a\":1}", "a.-1", Some("{\"a\":[\"s\"]}"), APPEND),
    Deviation("{\"a\":null}", "a.-1", Some("{\"a\":[\"s\"]}"), APPEND),
    Deviation("{\"0\":1,\"a\":[0]}", "0.-1", Some("{\"0\":[\"s\"],\"a\":[0]}"), APPEND),
    Deviation(
        "{\"a\":\"x\",\"b\":[true,false]}",
        "a.-1",
        Some("{\"a\":[\"s\"],\"b\":[true,false]}"),
        APPEND,
    ),
    Deviation("null", "-1", Some("[7]"), APPEND),
    Deviation("true", "-1", Some("[\"s\"]"), APPEND),
    Deviation("[[1],[2]]", ":0", None, NAME),
    Deviation("{\"0\":1,\"a\":[0]}", "a.:0", None, NAME),
    Deviation("{\"a\":1}", ".", None, EMPTY),
    Deviation("{\"a\":1}", "a.", None, EMPTY),
    Deviation("{\"a\":1}", ".a", None, EMPTY),
];

fn vectors(text: &str) -> Vec<BTreeMap<String, Box<RawValue>>> {
    serde_json::from_str(text).unwrap()
}

fn text(vector: &BTreeMap<String, Box<RawValue>>, key: &str) -> Option<String> {
    vector.get(key).map(|raw| serde_json::from_str(raw.get()).unwrap())
}

/// The vectors were made from values, which sjson writes without blanks.
fn value(vector: &BTreeMap<String, Box<RawValue>>) -> PatchValue {
    if let Some(raw) = text(vector, "raw") {
        return PatchValue::parse(&raw);
    }
    let compact: String = vector["val"].get().to_owned();
    if compact.starts_with('"') {
        return PatchValue::string(&serde_json::from_str::<String>(&compact).unwrap());
    }
    PatchValue::parse(&compact.replace(['\n', ' '], ""))
}

fn deviation(document: &str, path: &str) -> Option<&'static Deviation> {
    DEVIATIONS.iter().find(|deviation| deviation.0 == document && deviation.1 == path)
}

fn compare(vectors: &[BTreeMap<String, Box<RawValue>>]) {
    let mut wrong = Vec::new();
    for vector in vectors {
        let (document, path) = (text(vector, "in").unwrap(), text(vector, "path").unwrap());
        let expected = match deviation(&document, &path) {
            Some(deviation) => deviation.2.map(str::to_owned),
            None => text(vector, "out"),
        };
        let ours = json::set(document.as_bytes(), &path, &value(vector));
        let ours = ours.map(|document| String::from_utf8(document).unwrap());
        if ours.as_ref().ok() != expected.as_ref() {
            wrong.push(format!("{document:?} {path:?}\n  want {expected:?}\n  we   {ours:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_vector_gives_the_same_answer_but_for_the_deviations() {
    compare(&vectors(VECTORS));
    assert_eq!(vectors(VECTORS).len(), 46);
}

#[test]
fn every_further_vector_gives_the_same_answer_but_for_the_deviations() {
    compare(&vectors(MORE_VECTORS));
    assert_eq!(vectors(MORE_VECTORS).len(), 478);
}

#[test]
fn every_deviation_is_one() {
    let vectors: Vec<_> = [vectors(VECTORS), vectors(MORE_VECTORS)].concat();
    for Deviation(document, path, ours, reason) in DEVIATIONS {
        let vector = vectors
            .iter()
            .find(|vector| {
                text(vector, "in").as_deref() == Some(document)
                    && text(vector, "path").as_deref() == Some(path)
            })
            .unwrap();
        assert_ne!(text(vector, "out").as_deref(), *ours, "{path:?} deviates: {reason}");
    }
}
