use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn patched(document: &str, path: &str, value: &str) -> String {
    let patched = set(document.as_bytes(), path, &PatchValue::parse(value)).unwrap();
    String::from_utf8(patched).unwrap()
}

fn fault(document: &str) -> (usize, usize, JsonFault) {
    match validate(document.as_bytes()).unwrap_err() {
        JsonError::Invalid { line, column, fault } => (line, column, fault),
        other => panic!("{other}"),
    }
}

fn path_fault(document: &str, path: &str) -> PathFault {
    match set(document.as_bytes(), path, &PatchValue::parse("1")).unwrap_err() {
        JsonError::Path { fault, .. } => fault,
        other => panic!("{other}"),
    }
}

fn removed(document: &str, names: &[&str]) -> String {
    String::from_utf8(remove_member(document.as_bytes(), names).unwrap().into_owned()).unwrap()
}

#[test]
fn a_literal_is_itself_digit_for_digit_and_the_rest_is_a_string() {
    let cases = [
        ("7", "7"),
        ("1.50", "1.50"),
        ("1e400", "1e400"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("-0", "-0"),
        (" true", "\" true\""),
        ("7\n", "\"7\\n\""),
        ("\t[1]", "\"\\t[1]\""),
        ("null", "null"),
        ("\"7\"", "\"7\""),
        ("{\"a\": [1]}", "{\"a\": [1]}"),
        ("007", "\"007\""),
        ("1.", "\"1.\""),
        ("+1", "\"+1\""),
        ("NaN", "\"NaN\""),
        ("True", "\"True\""),
        ("", "\"\""),
        (" x ", "\" x \""),
        ("say \"hi\"\n", "\"say \\\"hi\\\"\\n\""),
        ("<é>&\u{1}", "\"<é>&\\u0001\""),
        ("{a}", "\"{a}\""),
    ];
    for (value, json) in cases {
        assert_eq!(PatchValue::parse(value).as_json(), json, "{value:?}");
    }
}

#[test]
fn members_are_added_in_the_manner_of_their_siblings() {
    let cases = [
        ("{\n\t\"a\": 1\n}\n", "b", "{\n\t\"a\": 1,\n\t\"b\": 2\n}\n"),
        ("{\r\n  \"a\" : 1\r\n}", "b", "{\r\n  \"a\" : 1,\r\n  \"b\" : 2\r\n}"),
        ("{\"a\": 1, \"c\": 3}", "b", "{\"a\": 1, \"c\": 3, \"b\": 2}"),
        ("[\n  1,\n  2\n]", "-1", "[\n  1,\n  2,\n  2\n]"),
        ("[\n  1\n]", "3", "[\n  1,\n  null,\n  null,\n  2\n]"),
        ("{\n  \"a\": {}\n}", "a.b.c", "{\n  \"a\": {\"b\": {\"c\": 2}}\n}"),
        ("{\n  \"a\": {\n  }\n}", "a.b", "{\n  \"a\": {\n    \"b\": 2\n  }\n}"),
        ("{\n  \"a\": 1\n}", "a.b", "{\n  \"a\": {\"b\": 2}\n}"),
    ];
    for (document, path, expected) in cases {
        assert_eq!(patched(document, path, "2"), expected);
    }
}

#[test]
fn a_byte_order_mark_and_trailing_bytes_stay() {
    assert_eq!(patched("\u{feff} {\"a\":1} \r\n\n", "a", "2"), "\u{feff} {\"a\":2} \r\n\n");
    assert_eq!(patched("\u{feff}5", "a", "2"), "\u{feff}{\"a\":2}");
}

#[test]
fn names_are_compared_by_what_they_mean() {
    assert_eq!(patched("{\"\\u00e9\\/\":1}", "é/", "2"), "{\"\\u00e9\\/\":2}");
    assert_eq!(patched("{\"\\ud83d\\ude00\":1}", "😀", "2"), "{\"\\ud83d\\ude00\":2}");
    assert_eq!(patched("{\"\":1}", ":", "2"), "{\"\":2}");
    assert_eq!(patched("{\"a#b\":1}", "a\\#b", "2"), "{\"a#b\":2}");
}

#[test]
fn several_values_are_set_in_the_order_of_their_paths() {
    let values = [("b.-1", "2"), ("a", "x"), ("b.-1.c", "3")];
    let values: BTreeMap<_, _> =
        values.map(|(path, value)| (path.to_owned(), value.to_owned())).into();
    let document = set_all(b"{\"b\":[1]}", &values).unwrap();
    assert_eq!(document, b"{\"b\":[1,2,{\"c\":3}],\"a\":\"x\"}");
}

#[test]
fn paths_that_mean_nothing_are_refused() {
    assert_eq!(path_fault("{}", "a.*"), PathFault::Wildcard('*'));
    assert_eq!(path_fault("{}", "a..b"), PathFault::EmptyPart);
    assert_eq!(path_fault("{}", ""), PathFault::EmptyPart);
    assert_eq!(path_fault("{}", "a\\"), PathFault::DanglingEscape);
    assert_eq!(path_fault("[1]", "a"), PathFault::NotAnIndex("a".to_owned()));
    assert_eq!(path_fault("[1]", "10002"), PathFault::TooFar("10002".to_owned()));
    assert_eq!(
        path_fault("{}", "a.99999999999999999999999"),
        PathFault::TooFar("99999999999999999999999".to_owned())
    );
    assert_eq!(path_fault("{}", &["a"; 200].join(".")), PathFault::TooDeep);
    let error = set(b"{}", "a?", &PatchValue::parse("1")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "bad path \"a?\": '?' is not supported; write \\? for the character itself"
    );
}

#[test]
fn values_and_nesting_are_bounded() {
    let large = "x".repeat(MAX_VALUE);
    let error = set(b"{}", "a", &PatchValue::parse(&large)).unwrap_err();
    assert_eq!(error, JsonError::ValueTooLarge { path: "a".to_owned() });
    let deep = "[".repeat(MAX_DEPTH) + &"]".repeat(MAX_DEPTH);
    assert!(validate(deep.as_bytes()).is_ok());
    assert!(set(b"{}", "a", &PatchValue::parse(&deep)).is_err());
    assert_eq!(fault(&"[".repeat(1_000_000)), (1, MAX_DEPTH + 1, JsonFault::TooDeep));
}

#[test]
fn invalid_documents_are_errors_with_line_and_column() {
    let cases = [
        ("", (1, 1, JsonFault::UnexpectedEnd)),
        ("{\n  \"é\": tru\n}", (2, 8, JsonFault::ExpectedValue)),
        ("{\"a\":1,}", (1, 8, JsonFault::ExpectedName)),
        ("{\"a\" 1}", (1, 6, JsonFault::ExpectedColon)),
        ("[1\n 2]", (2, 2, JsonFault::ExpectedCommaOrEnd)),
        ("[01]", (1, 2, JsonFault::BadNumber)),
        ("[\"\\x\"]", (1, 3, JsonFault::BadEscape)),
        ("[\"\\u12g4\"]", (1, 3, JsonFault::BadEscape)),
        ("[\"a\nb\"]", (1, 4, JsonFault::ControlCharacter)),
        ("{} x", (1, 4, JsonFault::TrailingText)),
        ("\u{feff}[", (1, 2, JsonFault::UnexpectedEnd)),
        ("// c\n{}", (1, 1, JsonFault::ExpectedValue)),
    ];
    for (document, expected) in cases {
        assert_eq!(fault(document), expected, "{document:?}");
    }
    assert_eq!(
        validate(b"{\"a\":\"\xff\"}").unwrap_err().to_string(),
        "invalid JSON at line 1, column 7: this is not UTF-8"
    );
}

const RESOURCE: &str = "{\n  \"scope\": \"G\",\n  \"files\": [\n    \"config.json\"\n  ],\n  \"attributes\": {\n    \"lastModification\": {\n      \"actor\": \"admin\"\n    },\n    \"lastModificationSignature\": \"ab12\"\n  }\n}\n";
const SIGNATURE: [&str; 2] = ["attributes", "lastModificationSignature"];

#[test]
fn the_signature_goes_with_its_comma_and_its_line_and_nothing_else() {
    let expected = RESOURCE.replace(",\n    \"lastModificationSignature\": \"ab12\"", "");
    assert_eq!(removed(RESOURCE, &SIGNATURE), expected);
    let cases = [
        (
            "{\"attributes\":{\"lastModificationSignature\":1,\"b\":2}}",
            "{\"attributes\":{\"b\":2}}",
        ),
        (
            "{\"attributes\":{\"a\":1,\"lastModificationSignature\":1,\"b\":2}}",
            "{\"attributes\":{\"a\":1,\"b\":2}}",
        ),
        ("{\"attributes\":{\n  \"lastModificationSignature\": 1\n}}", "{\"attributes\":{\n}}"),
        (
            "{\"attributes\":{\n  \"lastModificationSignature\": 1,\n  \"b\": 2\n}}",
            "{\"attributes\":{\n  \"b\": 2\n}}",
        ),
        (
            "{\"attributes\":{\"lastModificationSignature\":1,\"lastModificationSignature\":2}}",
            "{\"attributes\":{}}",
        ),
        (
            "{\"attributes\":{},\"attributes\":{\"lastModificationSignature\":2}}",
            "{\"attributes\":{},\"attributes\":{}}",
        ),
    ];
    for (document, expected) in cases {
        assert_eq!(removed(document, &SIGNATURE), expected);
    }
}

#[test]
fn a_document_without_the_member_is_not_even_copied() {
    for document in
        ["{}", "[]", "5", "{\"attributes\":5}", "{\"attributes\":{\"a\":1}}", "\u{feff}{}"]
    {
        let kept = remove_member(document.as_bytes(), &SIGNATURE).unwrap();
        assert!(matches!(kept, Cow::Borrowed(_)), "{document}");
    }
    assert!(remove_member(b"{", &SIGNATURE).is_err());
}

#[test]
fn what_the_gateway_rewrites_makes_no_difference() {
    let rewritten = "{\"attributes\":{\"lastModificationSignature\":\"ff\",\"lastModification\":{\"actor\":\"external\"}},\"files\":[\"config.json\"],\"scope\":\"\\u0047\"}";
    assert!(resource_equivalent(RESOURCE.as_bytes(), rewritten.as_bytes()));
    assert!(resource_equivalent(removed(RESOURCE, &SIGNATURE).as_bytes(), rewritten.as_bytes()));
    assert!(resource_equivalent(
        b"{\"scope\":\"G\",\"files\":[\"config.json\"]}",
        rewritten.as_bytes()
    ));
    let others = [
        rewritten.replace("config.json", "other.json"),
        rewritten.replace("\"attributes\":{", "\"attributes\":{\"enabled\":true,"),
        rewritten.replace("\"scope\"", "\"lastModificationSignature\":1,\"scope\""),
        "{".to_owned(),
        String::new(),
    ];
    for other in others {
        assert!(!resource_equivalent(RESOURCE.as_bytes(), other.as_bytes()), "{other}");
    }
}

/// Documents of every shape, with keys that also occur in paths.
fn documents() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-c\"\\\\é\n]{0,4}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[ab0]", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    });
    (value, any::<bool>()).prop_map(|(value, pretty)| {
        if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }
            .unwrap()
    })
}

fn paths() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "0", "1", "3", ":0", "c\\.d"]), 1..4)
        .prop_map(|parts| parts.join("."))
}

fn values() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~é\n]{0,12}", documents()]
}

/// Text from which JSON is made, mostly by accident.
fn soup() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{", "}", "[", "]", ":", ",", "\"a\"", "\"", "\\", "\\u00e9", "\\ud800", "1", "-", "0",
        ".5", "e+1", "true", "null", " ", "\n", "\t", "é", "\u{1}", "\u{feff}", "/",
    ]);
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn span(document: &[u8], path: &str) -> Option<std::ops::Range<usize>> {
    let value = get(document, path).unwrap()?;
    let start = value.as_ptr() as usize - document.as_ptr() as usize;
    Some(start..start + value.len())
}

/// Returns the scalar that the document has where the path wants to go on.
fn scalar_in_the_way(document: &[u8], path: &str) -> Option<std::ops::Range<usize>> {
    let is_scalar = |span: &std::ops::Range<usize>| !matches!(document[span.start], b'{' | b'[');
    let dots = path.match_indices('.').filter(|(at, _)| path.as_bytes()[at - 1] != b'\\');
    let mut prefixes = dots.filter_map(|(at, _)| span(document, &path[..at]));
    prefixes.find(is_scalar).or_else(|| Some(0..document.len()).filter(is_scalar))
}

/// Returns whether the one is the other with something put in at one place.
fn is_insertion(old: &[u8], new: &[u8]) -> bool {
    (0..=old.len()).any(|at| new.starts_with(&old[..at]) && new.ends_with(&old[at..]))
}

proptest! {
    #[test]
    fn any_bytes_are_a_document_or_a_fault(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let valid = validate(&bytes).is_ok();
        prop_assert_eq!(set(&bytes, "a.0", &PatchValue::parse("1")).is_err(), !valid || bytes.first() == Some(&b'['));
        prop_assert_eq!(remove_member(&bytes, &SIGNATURE).is_ok(), valid);
        prop_assert!(resource_equivalent(&bytes, &bytes));
    }

    #[test]
    fn validity_is_what_serde_json_says(text in prop_oneof![soup(), documents()]) {
        let bare = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let expected = serde_json::from_str::<&serde_json::value::RawValue>(bare).is_ok();
        prop_assert_eq!(validate(text.as_bytes()).is_ok(), expected, "{:?}", text);
    }

    #[test]
    fn any_text_is_a_path_or_a_fault(path in ".{0,20}", document in documents()) {
        if let Ok(patched) = set(document.as_bytes(), &path, &PatchValue::parse("1")) {
            prop_assert!(validate(&patched).is_ok());
        }
    }

    #[test]
    fn what_was_set_is_read_back_and_setting_it_again_changes_nothing(
        document in documents(), path in paths(), value in values(),
    ) {
        let value = PatchValue::parse(&value);
        if let Ok(once) = set(document.as_bytes(), &path, &value) {
            prop_assert!(serde_json::from_slice::<Value>(&once).is_ok());
            prop_assert_eq!(get(&once, &path).unwrap(), Some(value.as_json().as_bytes()));
            prop_assert_eq!(set(&once, &path, &value).unwrap(), once);
        }
    }

    #[test]
    fn every_other_byte_stays(document in documents(), path in paths(), value in values()) {
        let value = PatchValue::parse(&value);
        let bytes = document.as_bytes();
        let Ok(patched) = set(bytes, &path, &value) else { return Ok(()) };
        // What was replaced: the value itself, a scalar in its way, or nothing.
        let replaced = span(bytes, &path).or_else(|| scalar_in_the_way(bytes, &path));
        if let Some(span) = replaced {
            prop_assert!(patched.starts_with(&bytes[..span.start]));
            prop_assert!(patched.ends_with(&bytes[span.end..]));
        } else {
            prop_assert!(is_insertion(bytes, &patched));
        }
    }

    #[test]
    fn without_a_member_the_rest_means_the_same(document in documents()) {
        let rest = remove_member(document.as_bytes(), &["a", "b"]).unwrap().into_owned();
        let mut expected: Value = serde_json::from_str(&document).unwrap();
        if let Some(Value::Object(members)) = expected.get_mut("a") {
            members.remove("b");
        }
        prop_assert_eq!(serde_json::from_slice::<Value>(&rest).unwrap(), expected);
    }

    #[test]
    fn equivalence_ignores_blanks_and_order(document in documents()) {
        let value: Value = serde_json::from_str(&document).unwrap();
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        prop_assert!(resource_equivalent(document.as_bytes(), pretty.as_bytes()));
    }
}
