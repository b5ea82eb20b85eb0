use proptest::prelude::*;

use super::*;

fn glob(pattern: &str) -> Glob {
    Glob::parse(pattern).unwrap()
}

fn fault(pattern: &str) -> (usize, GlobFault) {
    let error = Glob::parse(pattern).unwrap_err();
    (error.position, error.fault)
}

fn excludes(patterns: &[&str]) -> Excludes {
    Excludes::parse(patterns.iter().copied()).unwrap()
}

/// The slow and obvious matcher: braces, then every way to spend each star.
fn model(pattern: &str, path: &[char]) -> bool {
    expand::alternatives(pattern).unwrap().iter().any(|text| {
        let pattern: Vec<char> = text.chars().collect();
        model_at(&pattern, path, Start::Segment)
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Start {
    Segment,
    Within,
}

fn model_at(pattern: &[char], path: &[char], start: Start) -> bool {
    if path.is_empty() {
        let rest: String = pattern.iter().collect();
        let segment = start == Start::Segment;
        return matches!(rest.as_str(), "" | "*" | "**" | "/**" | "/**/")
            || (rest == "**/" && segment);
    }
    match pattern {
        [] => false,
        ['*', '*'] if start == Start::Segment => true,
        ['*', '*', '/', rest @ ..] if start == Start::Segment => {
            let ends = path.iter().enumerate().filter(|(_, char)| **char == '/');
            model_at(rest, path, Start::Segment)
                || ends.into_iter().any(|(at, _)| model_at(rest, &path[at + 1..], Start::Segment))
        }
        ['*', '*', rest @ ..] | ['*', rest @ ..] => {
            let segment = path.iter().take_while(|char| **char != '/').count();
            (0..=segment).any(|taken| model_at(rest, &path[taken..], Start::Within))
        }
        ['?', rest @ ..] => path[0] != '/' && model_at(rest, &path[1..], Start::Within),
        [char, rest @ ..] => {
            let start = if *char == '/' { Start::Segment } else { Start::Within };
            *char == path[0] && model_at(rest, &path[1..], start)
        }
    }
}

fn patterns() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a", "b", "é", "/", "/", "*", "**", "**/", "/**", "?", "{a,b}", "{,a/}", "{b/**,a}",
    ]);
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn paths() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "ab", "é", "ba"]), 1..5)
        .prop_map(|segments| segments.join("/"))
}

proptest! {
    #[test]
    fn the_matcher_agrees_with_the_slow_model(pattern in patterns(), path in paths()) {
        let chars: Vec<char> = path.chars().collect();
        prop_assert_eq!(glob(&pattern).matches(path.as_bytes()), model(&pattern, &chars));
    }

    #[test]
    fn what_matches_all_below_matches(pattern in patterns(), directory in paths(), below in paths()) {
        let glob = glob(&pattern);
        if glob.matches_all_below(directory.as_bytes()) {
            let path = format!("{directory}/{below}");
            prop_assert!(glob.matches(path.as_bytes()));
        }
    }

    #[test]
    fn a_directory_above_is_found_as_by_trying_each(pattern in patterns(), path in paths()) {
        let glob = glob(&pattern);
        let tried = path.match_indices('/').any(|(at, _)| glob.matches(&path.as_bytes()[..at]));
        prop_assert_eq!(glob.matches_ancestor(path.as_bytes()), tried);
    }

    #[test]
    fn whatever_is_excluded_below_is_excluded(pattern in patterns(), dir in paths(), below in paths()) {
        if let Ok(excludes) = Excludes::parse([pattern.as_str(), "x/"])
            && excludes.excludes_all_below(dir.as_bytes())
        {
            let path = format!("{dir}/{below}");
            prop_assert!(excludes.excludes(path.as_bytes()));
        }
    }

    #[test]
    fn any_text_is_a_pattern_or_a_fault_and_any_bytes_are_a_path(
        pattern in ".{0,40}",
        path in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        if let Ok(glob) = Glob::parse(&pattern) {
            glob.matches(&path);
            glob.matches_all_below(&path);
            glob.matches_ancestor(&path);
        }
    }
}

#[test]
fn hostile_patterns_take_no_more_time_than_others() {
    // A matcher that goes back would need longer than the universe has.
    let path = "a".repeat(4000);
    let hostile =
        ["*a".repeat(250) + "b", "**/".repeat(170) + "b", "?*".repeat(250), "a*".repeat(256)];
    for pattern in hostile {
        assert_eq!(glob(&pattern).matches(path.as_bytes()), !pattern.ends_with('b'), "{pattern}");
    }
    let deep = "a/".repeat(2000);
    assert!(!glob(&("**/a/".repeat(100) + "b")).matches(deep.as_bytes()));
}

#[test]
fn alternatives_that_multiply_are_refused_at_once() {
    assert_eq!(fault(&"{a,b}".repeat(60)), (1, GlobFault::TooManyAlternatives));
    assert_eq!(fault(&"{,}".repeat(170)), (1, GlobFault::TooManyAlternatives));
    assert!(glob("**/{foo,bar,baz}.{json,xml,{yaml,yml}}").matches(b"d/baz.yml"));
}

#[test]
fn faults_name_the_place_and_the_reason() {
    assert_eq!(fault("é/[a"), (3, GlobFault::UnclosedClass));
    assert_eq!(fault("a[]b]"), (2, GlobFault::EmptyClass));
    assert_eq!(fault("a/{b,{c}"), (3, GlobFault::UnclosedAlternatives));
    assert_eq!(fault("a}"), (2, GlobFault::StrayBrace));
    assert_eq!(fault("abc\\"), (4, GlobFault::DanglingEscape));
    assert_eq!(fault(&"a".repeat(513)), (1, GlobFault::TooLong));
    assert_eq!(
        Glob::parse("x/[").unwrap_err().to_string(),
        "bad glob \"x/[\" at character 3: the character class is not closed with ]"
    );
}

#[test]
fn a_pattern_of_the_greatest_length_works() {
    let name = "é".repeat(256);
    assert!(glob(&name).matches(name.as_bytes()));
    assert!(glob(&"?".repeat(512)).matches("é".repeat(512).as_bytes()));
}

#[test]
fn bytes_that_are_no_characters_match_one_by_one() {
    assert!(glob("a?b").matches(b"a\xffb"));
    assert!(glob("a??b").matches(b"a\xff\xfeb"));
    assert!(glob("a[^x]b").matches(b"a\xffb"));
    assert!(glob("*.json").matches(b"\xc3\x28.json"));
    assert!(!glob("a\u{fffd}b").matches(b"a\xffb"));
}

#[test]
fn a_trailing_slash_means_the_directory_and_everything_below() {
    let excludes = excludes(&["**/.git/", "**/secrets/", "a/b*/"]);
    for hit in [".git/config", "x/.git/a/b", "secrets/key", "p/secrets/q/r", "a/bc/d"] {
        assert!(excludes.excludes(hit.as_bytes()), "{hit}");
    }
    for miss in ["git/config", ".gitignore", "secrets.json", "a/b", "x/a/bc/d", ".git"] {
        assert!(!excludes.excludes(miss.as_bytes()), "{miss}");
    }
    assert!(excludes.excludes_all_below(b"x/.git"));
    assert!(excludes.excludes_all_below(b"x/.git/objects"));
    assert!(!excludes.excludes_all_below(b"x"));
    assert!(!excludes.excludes_all_below(b""));
}

#[test]
fn a_trailing_slash_counts_within_braces_too() {
    let excludes = excludes(&["{**/.git/,*.tmp}"]);
    assert!(excludes.excludes(b"a/.git/x"));
    assert!(excludes.excludes(b"a.tmp"));
}

#[test]
fn a_pattern_that_matches_a_directory_excludes_everything_below_it() {
    let excludes = excludes(&[".github", "**/node_modules", "a/*", "doc?"]);
    for hit in [".github/workflows/ci.yml", "x/node_modules/y/z.js", "a/b/c", "a/b", "docs/index"] {
        assert!(excludes.excludes(hit.as_bytes()), "{hit}");
    }
    for miss in ["x/.github/ci.yml", ".githubs/x", "node_modules2/x", "a", "b/docs/x"] {
        assert!(!excludes.excludes(miss.as_bytes()), "{miss}");
    }
    assert!(excludes.excludes_all_below(b".github"));
    assert!(excludes.excludes_all_below(b".github/workflows"));
    assert!(!excludes.excludes_all_below(b""));
}

#[test]
fn an_exclude_that_no_path_can_match_is_refused() {
    for pattern in ["", "/", "/a/**", "./a", "a//b", "../a", "a/./b"] {
        let error = Excludes::parse(["**/.git/", pattern]).unwrap_err();
        assert_eq!((error.index, error.source.fault), (1, GlobFault::Unreachable), "{pattern:?}");
    }
}

#[test]
fn everything_below_is_known_for_the_usual_excludes() {
    let excludes = excludes(&["**/.resources/**", "logs/**"]);
    assert!(excludes.excludes_all_below(b"projects/p/.resources"));
    assert!(excludes.excludes_all_below(b"logs"));
    assert!(!excludes.excludes_all_below(b"projects/p"));
}
