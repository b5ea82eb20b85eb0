use proptest::prelude::*;
use serde_json::Value;

use super::resource::SIGNATURE;
use super::*;

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
