mod properties;
mod resource;

use std::collections::BTreeMap;

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
