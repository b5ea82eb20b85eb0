//! Properties: whatever the text, no parser panics, and what it lets through keeps its promise.

use proptest::prelude::*;

use crate::word::*;

/// Pieces that attackers and slips are made of.
const PIECES: &[&str] = &[
    "a",
    "main",
    "Z9",
    "-",
    "--",
    ".",
    "..",
    "/",
    "//",
    "\\",
    ":",
    "::",
    "@",
    "@{",
    "}",
    "~",
    "^",
    "?",
    "*",
    "[",
    "]",
    "{",
    "{{",
    "}}",
    " ",
    "\t",
    "\n",
    "\0",
    "\u{1b}",
    "\u{85}",
    "\u{2028}",
    "é",
    "日",
    "😀",
    "%2f",
    "..%00",
    ".lock",
    "refs/heads/",
    "semver:",
    ">=1.0",
    "https://",
    "http://",
    "ssh://",
    "git://",
    "file://",
    "ext::",
    "user:pw@",
    "git@",
    "host",
    ":22",
    "/x",
    "?q",
    "#f",
    "\"",
    "'",
    "`",
    "|",
    "<",
    ">",
    "5",
    "s",
    "m",
    "h",
    "ms",
    ".5",
    "99999",
    "0",
    "localhost",
    "[::1]",
    ".stoker",
    "-oProxyCommand=id",
    "$(id)",
    "_",
    "+",
];

/// Text made of hostile pieces, or of anything at all.
pub(super) fn text() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(prop::sample::select(PIECES), 0..8);
    prop_oneof![4 => pieces.prop_map(|pieces| pieces.concat()), 1 => any::<String>()]
}

/// Where a person or a program looks for who and which host: at the beginning, and after each
/// `://`, of which a mirror's path may hold a second one. Elsewhere a path holds what it likes.
fn addresses(url: &str) -> impl Iterator<Item = &str> {
    let beginnings = std::iter::once(url).chain(url.split("://").skip(1));
    beginnings.map(|beginning| beginning.split('/').next().unwrap_or_default())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8 * ProptestConfig::default().cases))]

    #[test]
    fn refs_never_look_like_options_or_expressions(text in text()) {
        if let Ok(name) = RefName::parse(&text) {
            prop_assert_eq!(name.as_str(), &text);
            prop_assert!(!text.starts_with('-') && !["..", "@{"].iter().any(|s| text.contains(s)), "{}", text);
            prop_assert!(!text.contains(char::is_control) && !text.is_empty());
        }
    }

    #[test]
    fn paths_never_leave_their_root_and_parse_to_themselves(text in text()) {
        if let Ok(path) = RelPath::parse(&text) {
            prop_assert!(path.components().all(|c| !matches!(c, "" | "." | "..")));
            prop_assert!(!path.as_str().starts_with('/') && !path.as_str().ends_with('/'));
            if !path.as_str().starts_with('-') {
                prop_assert_eq!(RelPath::parse(path.as_str()).unwrap(), path);
            }
        }
    }

    #[test]
    fn what_was_joined_can_be_taken_apart(root in text(), inner in text()) {
        if let (Ok(root), Ok(inner)) = (RelPath::parse(&root), RelPath::parse(&inner)) {
            prop_assert_eq!(root.join(&inner).below(&root), Some(inner));
        }
    }

    #[test]
    fn repository_urls_hold_no_credentials_and_no_options(text in text()) {
        if let Ok(url) = RepoUrl::parse(&text) {
            prop_assert!(!addresses(&text).any(|address| address.contains("user:pw@")), "{}", text);
            // How git finds the name of a helper to run: scheme characters, then two colons.
            let scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
            prop_assert!(!text.trim_start_matches(scheme).starts_with("::"));
            prop_assert!(!text.starts_with('-'));
            prop_assert!(url.host().is_none_or(|host| !host.starts_with('-') && !host.is_empty()));
            prop_assert!(!text.contains(|c: char| c.is_control() || c.is_whitespace()));
        }
    }

    #[test]
    fn safe_urls_never_show_what_stands_before_the_host(user in "[a-z]{3,8}", key in "[A-Z]{8}[?#/]{0,2}", rest in text()) {
        for scheme in ["https://", "ssh://", "", "weird+scheme://"] {
            let shown = SafeUrl::redact(&format!("{scheme}{user}:{key}@{rest}")).to_string();
            prop_assert!(!shown.contains(&key[..8]), "{}", shown);
            prop_assert!(!shown.contains(char::is_control));
        }
    }

    #[test]
    fn gateway_names_are_one_path_component(text in text()) {
        if let Ok(name) = GatewayName::parse(&text) {
            let path = RelPath::parse(name.as_str()).unwrap();
            prop_assert_eq!(path.as_str(), name.as_str());
            prop_assert_eq!(path.components().count(), 1);
        }
    }

    #[test]
    fn intervals_print_as_they_parse(millis in 0..359_996_400_000_u64) {
        let interval = Interval::from(std::time::Duration::from_millis(millis));
        prop_assert_eq!(Interval::parse(&interval.to_string()).unwrap(), interval);
    }

    #[test]
    fn words_go_through_json_or_are_refused(text in text()) {
        let json = serde_json::to_string(&text).unwrap();
        prop_assert_eq!(serde_json::from_str::<RefName>(&json).ok(), RefName::parse(&text).ok());
        prop_assert_eq!(serde_json::from_str::<Interval>(&json).ok(), Interval::parse(&text).ok());
        prop_assert_eq!(serde_json::from_str::<RelPath>(&json).ok(), RelPath::parse(&text).ok());
        prop_assert_eq!(serde_json::from_str::<RepoUrl>(&json).ok(), RepoUrl::parse(&text).ok());
        prop_assert_eq!(serde_json::from_str::<Commit>(&json).ok(), Commit::parse(&text).ok());
    }

    #[test]
    fn a_glob_that_is_closed_stays_so_inside_a_directory(text in text()) {
        if glob::check(&text).is_ok() {
            prop_assert_eq!(glob::check(&format!("**/{text}")), Ok(()));
        }
    }
}
