use std::fs;

use stoker_api::word::{HttpUrl, RepoUrl};

use super::*;

fn access(url: &str, auth: Auth) -> Access {
    Access { auth, ..Access::public(RepoUrl::parse(url).unwrap(), "/helper") }
}

fn token() -> Auth {
    Auth::Token { file: "/token".into(), username: "x".into() }
}

fn key() -> Auth {
    Auth::SshKey { key: "/key".into(), known_hosts: "/hosts".into() }
}

// A credential that does not fit is never silently ignored.
#[test]
fn credentials_fit_the_transport_or_are_refused() {
    let cases = [
        ("https://h/r", token(), true),
        ("https://h/r", Auth::None, true),
        ("https://h/r", key(), false),
        ("ssh://git@h/r", key(), true),
        ("git@h:r", key(), true),
        ("git@h:r", token(), false),
        ("git@h:r", Auth::None, false),
        ("git://h/r", Auth::None, true),
        ("git://h/r", token(), false),
        ("file:///r", Auth::None, true),
        ("file:///r", key(), false),
        ("http://h/r", Auth::None, true),
    ];
    for (url, auth, fits) in cases {
        let text = format!("{url} {auth:?}");
        assert_eq!(check_fit(&access(url, auth)).is_ok(), fits, "{text}");
    }
}

#[test]
fn credentials_go_over_plain_http_to_this_machine_or_by_permission() {
    let cases = [
        ("http://127.0.0.1:1234/r", PlainHttp::Refused, true),
        ("http://localhost/r", PlainHttp::Refused, true),
        ("http://[::1]:1/r", PlainHttp::Refused, true),
        ("http://git.example/r", PlainHttp::Refused, false),
        ("http://127.0.0.1.evil.example/r", PlainHttp::Refused, false),
        ("http://git.example/r", PlainHttp::Allowed, true),
    ];
    for (url, plain_http, fits) in cases {
        let access = Access { plain_http, ..access(url, token()) };
        let checked = check_fit(&access);
        assert_eq!(checked.is_ok(), fits, "{url}");
        assert!(fits || matches!(checked, Err(Error::PlainHttp { .. })));
    }
    // By way of a proxy elsewhere they leave this machine, whatever the end.
    let here = "http://127.0.0.1:1234/r";
    for (proxy, plain_http, fits) in [
        ("http://proxy.example:3128", PlainHttp::Refused, false),
        ("http://proxy.example:3128", PlainHttp::Allowed, true),
        ("http://localhost:3128", PlainHttp::Refused, true),
    ] {
        let proxy = Some(HttpUrl::parse(proxy).unwrap());
        let access = Access { proxy, plain_http, ..access(here, token()) };
        assert_eq!(check_fit(&access).is_ok(), fits, "{:?}", access.proxy);
    }
}

#[test]
fn one_trailing_newline_is_dropped_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    for (content, kept) in [("a\n", "a"), ("a", "a"), (" a \n", " a "), ("a\r\n", "a")] {
        fs::write(&file, content).unwrap();
        assert_eq!(read_line("token", &file).unwrap().reveal(), kept.as_bytes(), "{content:?}");
    }
    fs::write(&file, "a\n\n").unwrap();
    assert!(matches!(read_line("token", &file), Err(Error::Malformed { .. })));
}

// Git runs in another directory than we do.
#[test]
fn git_finds_a_helper_that_was_named_from_here() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        let path = directory.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    let token = Auth::Token { file: file("token", "t"), username: "x".into() };
    let key = file("key", "-----BEGIN OPENSSH PRIVATE KEY-----\n");
    let key = Auth::SshKey { key, known_hosts: file("hosts", "h ssh-ed25519 AAAA") };
    for (url, auth, name) in [("https://h/r", token, "GIT_ASKPASS"), ("git@h:r", key, "GIT_SSH")] {
        let access = Access { helper: "bin/stoker".into(), ..access(url, auth) };
        let granted = grant(&access, &Cancel::default()).unwrap();
        let helper = granted.environment.iter().find(|(known, _)| *known == name).unwrap();
        let here = std::env::current_dir().unwrap();
        assert_eq!(Path::new(&helper.1), here.join("bin/stoker"), "{name}");
    }
}
