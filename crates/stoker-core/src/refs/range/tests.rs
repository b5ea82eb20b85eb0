use proptest::prelude::*;

use super::*;

/// Versions that the range should hold, and versions that it should not.
type Case = (&'static str, &'static [&'static str], &'static [&'static str]);

const CASES: &[Case] = &[
    (">=2.0 <3", &["2.0.0", "2.9.9"], &["1.9.9", "3.0.0", "2.1.0-rc.1"]),
    (">=2.0,<3", &["2.0.0", "2.9.9"], &["1.9.9", "3.0.0"]),
    (">=2.0 ,  <3", &["2.0.0"], &["3.0.0"]),
    (">= 2.0 < 3", &["2.0.0"], &["3.0.0"]),
    (">2.0", &["2.0.1", "2.1.0"], &["2.0.0"]),
    ("<=2", &["2.0.0", "1.9.0"], &["2.0.1"]),
    ("=2", &["2.0.0"], &["2.1.0"]),
    ("=2.x", &["2.1.0"], &["3.0.0"]),
    ("2.1.3", &["2.1.3"], &["2.1.4", "2.1.2"]),
    ("v2.1.3", &["2.1.3"], &["2.1.4"]),
    ("2", &["2.0.0", "2.7.1"], &["3.0.0", "1.0.0"]),
    ("2.1", &["2.1.0", "2.1.9"], &["2.2.0"]),
    ("2.x", &["2.0.0", "2.7.1"], &["3.0.0", "1.0.0"]),
    ("2.1.x", &["2.1.9"], &["2.2.0"]),
    ("2.1.*", &["2.1.9"], &["2.2.0"]),
    ("*", &["0.0.1", "9.0.0"], &["1.0.0-rc.1"]),
    ("x.x.X", &["0.0.1", "9.0.0"], &[]),
    ("^1.2.3", &["1.2.3", "1.9.0"], &["1.2.2", "2.0.0"]),
    ("^1.2", &["1.2.0", "1.9.0"], &["1.1.9", "2.0.0"]),
    ("^0.2.3", &["0.2.3", "0.2.9"], &["0.3.0", "0.2.2"]),
    ("^0.0.3", &["0.0.3"], &["0.0.4"]),
    ("^0.0", &["0.0.0", "0.0.9"], &["0.1.0"]),
    ("^0", &["0.9.0"], &["1.0.0"]),
    ("~1.2.3", &["1.2.3", "1.2.9"], &["1.3.0", "1.2.2"]),
    ("~1.2", &["1.2.0", "1.2.9"], &["1.3.0"]),
    ("~1", &["1.0.0", "1.9.0"], &["2.0.0"]),
    ("^1 || ^3", &["1.1.0", "3.1.0"], &["2.0.0", "4.0.0"]),
    (">=2.0.0-0", &["2.0.0-rc.1", "2.0.0", "3.1.0-beta"], &["1.9.0"]),
    (">=2.0.0-rc.2 <3", &["2.0.0-rc.2", "2.1.0-alpha"], &["2.0.0-rc.1", "3.0.0-rc.1", "3.0.0"]),
    ("^2.0.0-rc.1", &["2.0.0-rc.1", "2.5.0"], &["3.0.0-rc.1", "2.0.0-beta"]),
    ("2.0.0-rc.1", &["2.0.0-rc.1"], &["2.0.0"]),
    ("^18446744073709551615", &["18446744073709551615.1.0"], &["1.0.0"]),
];

#[test]
fn ranges_hold_what_they_say() {
    for (text, inside, outside) in CASES {
        let range = Range::parse(text).unwrap();
        for version in *inside {
            assert!(range.holds(&Version::parse(version).unwrap()), "{text:?} holds {version}");
        }
        for version in *outside {
            assert!(
                !range.holds(&Version::parse(version).unwrap()),
                "{text:?} leaves out {version}"
            );
        }
    }
}

#[test]
fn what_is_no_range_is_refused_by_name() {
    assert_eq!(Range::parse(""), Err(Error::Empty));
    assert_eq!(Range::parse(" , "), Err(Error::Empty));
    assert_eq!(Range::parse("^1 ||"), Err(Error::Empty));
    assert_eq!(Range::parse(&"1 ".repeat(200)), Err(Error::TooLong));
    let bad = [
        "latest",
        ">=",
        "1.2.3.4",
        "1.x.3",
        "1.x-rc.1",
        "01.2.3",
        "1..2",
        "-1",
        ">>1",
        "=>1",
        "!=1",
        "1-",
        "1.2.3-..",
        "99999999999999999999",
        "é",
        "1 - 2",
    ];
    for text in bad {
        assert!(matches!(Range::parse(text), Err(Error::Comparator { .. })), "{text:?}");
    }
}

#[test]
fn tags_are_versions_with_or_without_v_and_missing_parts_are_zero() {
    let version = |text: &str| Some(Version::parse(text).unwrap());
    assert_eq!(version_of_tag("v2.1.0"), version("2.1.0"));
    assert_eq!(version_of_tag("2.1.0"), version("2.1.0"));
    assert_eq!(version_of_tag("v2.1"), version("2.1.0"));
    assert_eq!(version_of_tag("v2"), version("2.0.0"));
    assert_eq!(version_of_tag("v2.1.0-rc.1"), version("2.1.0-rc.1"));
    assert_eq!(version_of_tag("v2.1.0+build.5"), version("2.1.0+build.5"));
    for tag in ["", "v", "latest", "vv1.0.0", "v1.x", "*", "1.2.3.4", "release-1.2", "v1.02.3"] {
        assert_eq!(version_of_tag(tag), None, "{tag:?}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,40}") {
        if let Ok(range) = Range::parse(&text) {
            range.holds(&Version::new(1, 2, 3));
        }
        version_of_tag(&text);
    }

    #[test]
    fn a_range_agrees_with_plain_comparison(
        low in (0u64..4, 0u64..4, 0u64..4), high in (0u64..4, 0u64..4, 0u64..4),
        at in (0u64..4, 0u64..4, 0u64..4),
    ) {
        let text = format!(">={}.{}.{} <{}.{}.{}", low.0, low.1, low.2, high.0, high.1, high.2);
        let holds = Range::parse(&text).unwrap().holds(&Version::new(at.0, at.1, at.2));
        prop_assert_eq!(holds, low <= at && at < high);
    }
}
