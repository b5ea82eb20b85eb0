use super::*;

const RESOURCE: &str = "{\n  \"scope\": \"G\",\n  \"files\": [\n    \"config.json\"\n  ],\n  \"attributes\": {\n    \"lastModification\": {\n      \"actor\": \"admin\"\n    },\n    \"lastModificationSignature\": \"ab12\"\n  }\n}\n";

pub(super) const SIGNATURE: [&str; 2] = ["attributes", "lastModificationSignature"];

fn removed(document: &str, names: &[&str]) -> String {
    String::from_utf8(remove_member(document.as_bytes(), names).unwrap().into_owned()).unwrap()
}

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
