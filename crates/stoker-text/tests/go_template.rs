//! Templates against vectors made with Go's `text/template` and `missingkey=error`.

#![expect(clippy::unwrap_used, reason = "a vector that can't be read fails the test")]

use std::collections::BTreeMap;

use serde_json::Value;
use stoker_text::template::{Context, ContextValue, Limits, Template};

const VECTORS: &str = include_str!("vectors/go-template.json");
/// Made by `vectors/generate` with Go 1.26.8.
const MORE_VECTORS: &str = include_str!("vectors/go-template-more.json");

const WHOLE_CONTEXT: &str =
    "using the whole context as a value is a slip, and would reach fields that are not known";
const EXOTIC_NUMBER: &str = "complex numbers and hexadecimal fractions have no use in a file";

/// Deliberate deviations: the template, and why it is an error here.
const DEVIATIONS: &[(&str, &str)] = &[
    ("{{.}}", WHOLE_CONTEXT),
    ("{{$}}", WHOLE_CONTEXT),
    ("{{eq . .}}", WHOLE_CONTEXT),
    (
        "{{define \"a\"}}{{.}}{{end}}{{template \"a\"}}",
        "Go writes <no value> into the file: a missing value is an error everywhere",
    ),
    ("{{\"\\xe9\"}}", "half a character: the output is always UTF-8"),
    ("{{1i}}", EXOTIC_NUMBER),
    ("{{0x1p4}}", EXOTIC_NUMBER),
];

fn map(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// The context that the vectors were made with.
fn context() -> Context {
    let list = ["a", "b", "c"].map(str::to_owned).to_vec();
    Context {
        gateway_name: Some("gw-1".to_owned()),
        pod_name: Some("gw-1-2".to_owned()),
        pod_ordinal: Some(2),
        namespace: Some("ns".to_owned()),
        cr_name: Some("cr".to_owned()),
        profile: None,
        git_ref: Some("main".to_owned()),
        commit: Some("0123456789abcdef0123456789abcdef01234567".to_owned()),
        vars: map(&[("region", "us"), ("uni", "héé")]),
        labels: Some(map(&[("app.kubernetes.io/name", "ign"), ("site", "north")])),
        extra: BTreeMap::from([
            ("List".to_owned(), ContextValue::List(list)),
            ("Empty".to_owned(), ContextValue::List(Vec::new())),
        ]),
    }
}

fn render(text: &str) -> Result<String, String> {
    Template::parse(text)
        .and_then(|template| template.render(&context(), Limits::default()))
        .map_err(|error| error.to_string())
}

fn compare(vectors: &str) -> usize {
    let vectors: Vec<Value> = serde_json::from_str(vectors).unwrap();
    let mut wrong = Vec::new();
    for vector in &vectors {
        let template = vector["t"].as_str().unwrap();
        let deviates = DEVIATIONS.iter().any(|(text, _)| *text == template);
        let expected = if deviates { None } else { vector["ok"].as_str() };
        let rendered = render(template);
        if rendered.as_deref().ok() != expected {
            wrong.push(format!("{template:?}\n  Go {vector}\n  we {rendered:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    vectors.len()
}

#[test]
fn every_vector_gives_the_same_answer_but_for_the_deviations() {
    assert_eq!(compare(VECTORS), 111);
}

#[test]
fn every_deviation_is_one() {
    let mut vectors: Vec<Value> = serde_json::from_str(VECTORS).unwrap();
    vectors.extend(serde_json::from_str::<Vec<Value>>(MORE_VECTORS).unwrap());
    for (template, reason) in DEVIATIONS {
        let vector = vectors.iter().find(|vector| vector["t"] == *template).unwrap();
        assert!(vector["ok"].is_string(), "{template:?} deviates: {reason}");
    }
}

#[test]
fn every_further_vector_gives_the_same_answer_but_for_the_deviations() {
    assert_eq!(compare(MORE_VECTORS), 347);
}
