//! Claims about words, by example; properties under hostile input are below.

mod agreement;
mod hostile;

use std::time::Duration;

use super::*;

#[test]
fn commits_are_kept_in_lower_case_and_shortened_to_seven() {
    let commit = Commit::parse("4F1C2D3E4B5A69788796A5B4C3D2E1F001122334").unwrap();
    assert_eq!(commit.as_str(), "4f1c2d3e4b5a69788796a5b4c3d2e1f001122334");
    assert_eq!(commit.short(), "4f1c2d3");
}

#[test]
fn other_texts_are_no_commits() {
    assert_eq!(Commit::parse("4f1c2d3"), Err(CommitError::Length(7)));
    assert_eq!(Commit::parse(&"g".repeat(40)), Err(CommitError::Digit));
    assert_eq!(Commit::parse(&"é".repeat(40)), Err(CommitError::Digit));
}

#[test]
fn refs_of_every_kind_are_taken() {
    for text in ["main", "v2.1.0", "release/2026.11", "refs/heads/main", "@foo", "a{b}", "1a2b3c4"]
    {
        assert_eq!(RefName::parse(text).unwrap().as_str(), text);
    }
    let range = RefName::parse("semver:>=2.0 <3, ~1.x || ^4.0.0-rc.1").unwrap();
    assert_eq!(range.semver_range(), Some(">=2.0 <3, ~1.x || ^4.0.0-rc.1"));
    assert!(RefName::parse("refs/tags/v1").unwrap().is_full_name());
    assert!(RefName::parse("1a2b3c4").unwrap().is_short_commit());
    assert!(!RefName::parse("1a2b3c").unwrap().is_short_commit());
    assert!(RefName::parse(&"0a".repeat(20)).unwrap().as_commit().is_some());
}

#[test]
fn refs_that_git_or_a_shell_could_misread_are_refused() {
    use RefNameError as E;
    let cases = [
        ("", E::Empty),
        ("--upload-pack=x", E::Dash),
        ("-h", E::Dash),
        ("a..b", E::Sequence("..")),
        ("semver:1..2", E::Sequence("..")),
        ("main@{1}", E::Sequence("@{")),
        ("a//b", E::Sequence("//")),
        ("a b", E::Character(' ')),
        ("main\n", E::Character('\n')),
        ("a\u{85}b", E::Character('\u{85}')),
        ("HEAD~1", E::Character('~')),
        ("a:b", E::Character(':')),
        ("a\\b", E::Character('\\')),
        ("@", E::Component("@".into())),
        ("a/.b", E::Component(".b".into())),
        ("a.", E::Component("a.".into())),
        ("a.lock/b", E::Component("a.lock".into())),
        ("/a", E::Component("".into())),
        ("semver:", E::Range),
        ("semver:>=", E::Range),
        ("semver:$(id)1", E::Character('$')),
    ];
    for (text, expected) in cases {
        assert_eq!(RefName::parse(text), Err(expected), "{text:?}");
    }
    assert_eq!(RefName::parse(&"x".repeat(256)), Err(E::Long(256)));
}

#[test]
fn urls_of_every_transport_are_taken() {
    let cases = [
        ("https://github.com/acme/plant.git", Transport::Https, Some("github.com")),
        ("https://[::1]:8443/plant", Transport::Https, Some("::1")),
        ("http://127.0.0.1:3000/plant", Transport::Http, Some("127.0.0.1")),
        ("ssh://git@git.example.com:2222/plant", Transport::Ssh, Some("git.example.com")),
        ("git@github.com:acme/plant.git", Transport::Ssh, Some("github.com")),
        ("host:~/plant", Transport::Ssh, Some("host")),
        ("git@host:a://b", Transport::Ssh, Some("host")),
        ("git@host:org/re@po", Transport::Ssh, Some("host")),
        ("https://mirror/https://host/re@po", Transport::Https, Some("mirror")),
        ("git://host/plant", Transport::Git, Some("host")),
        ("file:///srv/plant.git", Transport::File, None),
    ];
    for (text, transport, host) in cases {
        let url = RepoUrl::parse(text).unwrap();
        assert_eq!((url.transport(), url.host()), (transport, host), "{text}");
    }
}

#[test]
fn urls_that_run_leak_or_miss_something_are_refused() {
    use UrlError as E;
    let cases = [
        ("/srv/plant", E::BarePath),
        ("./plant", E::BarePath),
        ("plant", E::BarePath),
        ("https://user:pw@host/x", E::Credentials),
        ("https://token@host/x", E::Credentials),
        ("ssh://git:pw@host/x", E::Credentials),
        ("user:pw@host:x", E::Credentials),
        ("git://user@host/x", E::Credentials),
        ("https://mirror/https://user:pw@host/x", E::Credentials),
        ("ssh://git@mirror/https://token@host/x", E::Credentials),
        ("git@host:https://user:pw@host/x", E::Credentials),
        ("a:22https://user:pw@", E::Credentials),
        ("ext::sh -c id", E::Character(' ')),
        ("ext::sh", E::Scheme),
        ("HTTPS://host/x", E::Scheme),
        ("file:/srv/plant", E::Scheme),
        ("https:host/x", E::Scheme),
        ("ftp://host/x", E::Scheme),
        ("ssh://-oProxyCommand=id/x", E::Host),
        ("ssh://-oProxyCommand=id@host/x", E::Host),
        ("-oProxyCommand=id:x", E::Host),
        ("git@-host:x", E::Host),
        ("git@host:-x", E::Scheme),
        ("https:///x", E::Host),
        ("https://host:99999999/x", E::Port),
        ("https://host:65536/x", E::Port),
        ("ssh://[::1]:99999/x", E::Port),
        ("https://[::1/x", E::Host),
        ("https://host", E::Path),
        ("https://host/", E::Path),
        ("https://host/x?token=1", E::Character('?')),
        ("file://host/x", E::Host),
        ("file:///", E::Path),
    ];
    for (text, expected) in cases {
        assert_eq!(RepoUrl::parse(text), Err(expected), "{text:?}");
    }
}

#[test]
fn service_urls_are_web_addresses_with_or_without_a_path() {
    assert!(HttpUrl::parse("http://proxy.example.com:3128").is_ok());
    assert!(HttpUrl::parse("https://github.example.com/api/v3").is_ok());
    assert_eq!(HttpUrl::parse("socks5://proxy:1080"), Err(UrlError::WebScheme));
    assert_eq!(HttpUrl::parse("http://u:p@proxy"), Err(UrlError::Credentials));
}

#[test]
fn safe_urls_print_without_credentials() {
    let cases = [
        ("https://user:pw@host/x?key=1#f", "https://[redacted]@host/x"),
        ("user:pw@host:x", "[redacted]@host:x"),
        ("https://user:p?w#d@host/x", "https://[redacted]@host/x"),
        ("user:pw@https://@", "[redacted]@"),
        ("https://host/x", "https://host/x"),
        ("https://host/\u{1b}[2Jx", "https://host/[2Jx"),
    ];
    for (text, printed) in cases {
        assert_eq!(SafeUrl::redact(text).to_string(), printed);
    }
}

#[test]
fn paths_are_kept_without_what_means_nothing() {
    for (text, kept) in [("a/b", "a/b"), ("./a//b/", "a/b"), (".", ""), ("", ""), ("a/./b", "a/b")]
    {
        assert_eq!(RelPath::parse(text).unwrap().as_str(), kept, "{text:?}");
    }
}

#[test]
fn paths_that_leave_their_root_are_refused() {
    use RelPathError as E;
    let cases = [
        ("/etc", E::Absolute),
        ("..", E::Parent),
        ("a/../../b", E::Parent),
        ("-rf", E::Dash),
        ("a\0b", E::Character('\0')),
        ("a\u{9f}b", E::Character('\u{9f}')),
    ];
    for (text, expected) in cases {
        assert_eq!(RelPath::parse(text), Err(expected), "{text:?}");
    }
    assert!(RelPath::parse("a..b/...").is_ok());
}

#[test]
fn paths_know_what_is_above_and_below() {
    let path = RelPath::parse("config/core/a.json").unwrap();
    let root = RelPath::root();
    let above = path.parent().unwrap();
    assert_eq!((above.as_str(), path.file_name()), ("config/core", Some("a.json")));
    assert_eq!(path.below(&above).unwrap().as_str(), "a.json");
    assert_eq!(path.below(&RelPath::parse("conf").unwrap()), None);
    assert_eq!((path.below(&path), path.below(&root)), (Some(root.clone()), Some(path.clone())));
    assert_eq!((root.parent(), root.file_name()), (None, None));
}

#[test]
fn intervals_read_and_print_as_people_write_them() {
    let cases = [
        ("60s", 60_000, "1m"),
        ("1h30m", 5_400_000, "1h30m"),
        ("1.5h", 5_400_000, "1h30m"),
        ("250ms", 250, "250ms"),
        ("3.2s", 3_200, "3.2s"),
        ("1m0.05s", 60_050, "1m0.05s"),
        ("0", 0, "0s"),
        ("0s", 0, "0s"),
        ("99999h99999h", 719_992_800_000, "199998h"),
    ];
    for (text, millis, printed) in cases {
        let interval = Interval::parse(text).unwrap();
        assert_eq!(interval.as_duration(), Duration::from_millis(millis), "{text}");
        assert_eq!(interval.to_string(), printed);
    }
}

#[test]
fn other_texts_are_no_intervals() {
    for text in
        ["", "5", "5 m", "m", "-5s", "+5s", "1d", "5sx", ".5s", "5.s", "123456s", "0x5s", "٣s"]
    {
        assert!(Interval::parse(text).is_err(), "{text:?}");
    }
    let short = Interval::parse("4.999s").unwrap();
    assert_eq!(Interval::parse_repeating("4.999s"), Err(IntervalError::Short(short)));
    assert!(Interval::parse_repeating("5s").is_ok());
}

#[test]
fn secrets_print_as_redacted_and_drop_one_newline() {
    let secret = Secret::from_file(b"hunter2\r\n".to_vec());
    assert_eq!(format!("{secret:?}"), "[redacted]");
    assert_eq!(secret.reveal(), b"hunter2");
    assert_eq!(Secret::from_file(b"a\n\n".to_vec()).reveal(), b"a\n");
    assert!(Secret::new("").is_empty());
}

#[test]
fn templates_are_balanced_where_every_action_is_closed() {
    for text in [
        "",
        "plain",
        "{{.A}}",
        "{{ \"}}\" }}x",
        "{{/* {{ */}}",
        "{{- /* }} */ -}}",
        "{a}",
        "{{ `}}` }}",
        "{\"a\":{\"b\":1}}",
    ] {
        assert_eq!(template::check(text), Ok(()), "{text}");
    }
    for text in ["{{", "{{.A}", "{{ \"}}", "{{/* }}", "{{.A}}{{"] {
        assert_eq!(template::check(text), Err(template::Unclosed), "{text}");
    }
}

#[test]
fn globs_of_go_are_taken_and_unclosed_ones_refused() {
    // The valid patterns with brackets of the golden vectors made with Go's doublestar.
    for text in [
        "**/{foo,bar}.{json,xml}",
        "*{.json,.xml}",
        "[!a-c]x",
        "[[:alpha:]]x",
        "[^a-c]x",
        "[z-a]",
        "\\*x",
        "a/{b,c/{d,e}}",
        "a/{}/b",
        "{*,a/**}/x",
        "{,a/}b",
        "{a,b}/*.json",
        "\\[",
        "[{]",
        "[\\]]",
    ] {
        assert_eq!(glob::check(text), Ok(()), "{text}");
    }
    assert_eq!(glob::check("[a"), Err(glob::GlobError::Unclosed('[')));
    assert_eq!(glob::check("{a,{b}"), Err(glob::GlobError::Unclosed('{')));
    assert_eq!(glob::check("a\\"), Err(glob::GlobError::Dangling));
}
