//! Claims about the reading of bodies.

use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn scan(body: &[u8], chunk: usize) -> Result<Fields, NotJson> {
    let mut scanner = Scanner::default();
    for piece in body.chunks(chunk.max(1)) {
        scanner.feed(piece)?;
    }
    scanner.finish()
}

#[test]
fn wanted_fields_are_found_however_the_body_is_cut() {
    let body = r#" {"x":[1,2,{"ref":"no"}],"ref":"refs\/heads\/m\u00e4in \ud83d\ude00","deleted":false,
        "repository":{"full_name":"a/b","private":true},"push":{"changes":[{"new":null},
        {"new":{"type":"branch","name":"main"}}]},"app":{"metadata":{"annotations":{"git.ref":"2.0"}}},"n":-1.5e3} "#;
    for chunk in [1, 2, 3, 7, 1000] {
        let fields = scan(body.as_bytes(), chunk).unwrap();
        assert_eq!(fields.text("ref"), Some("refs/heads/mäin 😀"), "{chunk}");
        assert_eq!(fields.get("deleted"), Some(&Scalar::Bool(false)));
        assert_eq!(fields.text("repository/full_name"), Some("a/b"));
        assert_eq!(fields.text("push/changes/1/new/name"), Some("main"));
        assert_eq!(fields.text("app/metadata/annotations/git.ref"), Some("2.0"));
        assert_eq!(fields.0.len(), 6, "{fields:?}");
    }
}

#[test]
fn what_is_not_json_is_refused() {
    for body in [
        "",
        " ",
        "{",
        "[1,",
        "{\"a\"}",
        "{\"a\":}",
        "{a:1}",
        "[1,]",
        "{\"a\":1,}",
        "nul",
        "nulll",
        "tru e",
        "\"open",
        "\"\\x\"",
        "\"\\u12g4\"",
        "1 2",
        "{} {}",
        "]",
        "}",
        "\"\u{1}\"",
        "+1",
        "payload=%7B%7D",
    ] {
        assert_eq!(scan(body.as_bytes(), 3), Err(NotJson), "{body:?}");
    }
}

// E4, E5
#[test]
fn depth_lists_and_texts_are_bounded() {
    let deep = "[".repeat(DEEPEST + 1);
    assert_eq!(scan(deep.as_bytes(), 100), Err(NotJson));
    let long = format!(r#"{{"ref":"{}","after":"x"}}"#, "x".repeat(LONGEST + 1));
    let fields = scan(long.as_bytes(), 100).unwrap();
    assert_eq!((fields.text("ref"), fields.text("after")), (None, Some("x")));
    let many = vec![r#"{"new":{"name":"b"}}"#; 10_000].join(",");
    let body = format!(r#"{{"push":{{"changes":[{many}]}}}}"#);
    assert_eq!(scan(body.as_bytes(), 4096).unwrap().0.len(), LISTED);
    // Strangers' bodies are scanned too, so all fields together are bounded.
    let many = vec![format!(r#"{{"new":{{"name":"{}"}}}}"#, "x".repeat(LONGEST)); 50].join(",");
    let body = format!(r#"{{"push":{{"changes":[{many}]}},"ref":"main"}}"#);
    let fields = scan(body.as_bytes(), 4096).unwrap();
    let size: usize =
        fields.0.iter().map(|(path, scalar)| path.len() + format!("{scalar:?}").len()).sum();
    assert!(size <= BUDGET, "{size}");
    assert_eq!(fields.text("push/changes/0/new/name").map(str::len), Some(LONGEST));
}

/// Reads the fields as a whole parser would.
fn expected(value: &Value) -> BTreeMap<String, Scalar> {
    let mut found = BTreeMap::new();
    collect(value, &mut Vec::new(), &mut found);
    found
}

fn collect(value: &Value, at: &mut Vec<String>, found: &mut BTreeMap<String, Scalar>) {
    let pattern = at.join("/");
    let scalar = match value {
        Value::Object(map) => {
            for (key, value) in map {
                at.push(key.clone());
                collect(value, at, found);
                at.pop();
            }
            return;
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                at.push(format!("*{index}"));
                collect(value, at, found);
                at.pop();
            }
            return;
        }
        Value::String(text) => Scalar::Text(text.clone()),
        Value::Bool(value) => Scalar::Bool(*value),
        Value::Null => Scalar::Other,
        Value::Number(_) => return,
    };
    let is_index = |part: &&str| part.starts_with('*');
    let shape: Vec<&str> =
        at.iter().map(|part| if is_index(&part.as_str()) { "*" } else { part }).collect();
    if PATHS.contains(&shape.join("/").as_str()) {
        found.insert(pattern.replace('*', ""), scalar);
    }
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[^*]{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        let key = prop_oneof![
            prop::sample::select(vec![
                "ref",
                "push",
                "changes",
                "new",
                "name",
                "type",
                "release",
                "draft",
                "repository",
                "full_name",
                "freight",
                "commits",
                "tag",
            ])
            .prop_map(str::to_owned),
            "[a-z\"\\\\é]{1,4}",
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..5).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    // E5
    #[test]
    fn every_json_is_read_as_a_whole_parser_reads_it(value in json(), chunk in 1_usize..50) {
        let fields = scan(value.to_string().as_bytes(), chunk);
        prop_assert_eq!(fields.map(|fields| fields.0), Ok(expected(&value)));
    }

    // E5
    #[test]
    fn any_bytes_are_read_or_refused(body in prop::collection::vec(any::<u8>(), 0..200), chunk in 1_usize..9) {
        if scan(&body, chunk).is_err() {
            // Texts that are not kept are not checked for UTF-8; everything else is as strict.
            prop_assert!(serde_json::from_slice::<Value>(&body).is_err());
        }
    }
}
