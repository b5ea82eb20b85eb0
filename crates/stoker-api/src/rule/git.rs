//! Rules about the repository and the way to it.

use serde_json::Value;

use super::grammar::{HOST, INNER_ADDRESS, PORT, SEMVER, USER};
use super::{rule, rules};

/// The fields of `git.auth` that are ways to log in.
const METHODS: [&str; 3] = ["sshKey", "token", "githubApp"];

pub(crate) fn repo_url() -> Value {
    let grammar = [
        format!(r"^(https?|git)://([^/@]*@)?{HOST}{PORT}/.+$"),
        format!(r"^ssh://([^/@]*:[^/@]*@|{USER}@)?{HOST}{PORT}/.+$"),
        r"^file://(localhost)?/.+$".to_owned(),
        format!(r"^({USER}@)?[A-Za-z0-9][A-Za-z0-9._-]*:([^:/-]|/[^/]|/$).*$"),
    ];
    let grammar = grammar.map(|form| format!("self.matches(r'{form}')")).join(" || ");
    let grammar = format!("({grammar}) && !self.matches(r'^(file|https?):(/?[^/]|/?$)')");
    rules([
        rule(
            r#"!self.matches(r'[\p{Cc}\p{Z}\\?#<>"`|]')"#,
            "git.repo holds a character that a URL can't hold (a space, a control character, or one of \\ ? # < > \" ` |): remove it",
        ),
        rule(
            &format!(
                "!self.matches(r'^(https?|git)://[^/]*@|^ssh://[^/@]*:[^/]*@|^[^/:]+:[^/]*@|{INNER_ADDRESS}')"
            ),
            "git.repo holds credentials: remove what stands before \"@\", put it into a Secret and name that in git.auth",
        ),
        rule(
            &grammar,
            "git.repo must be one of https://host/path, ssh://[user@]host/path, user@host:path, git://host/path, http://host/path and file:///path (a bare path is written file:///path)",
        ),
    ])
}

pub(crate) fn git_ref() -> Value {
    rules([
        rule(
            "!self.startsWith('-')",
            "git.ref can't begin with \"-\": name a branch, a tag or a commit",
        ),
        rule(
            "!self.contains('..') && !self.contains('@{') && !self.contains('//')",
            "git.ref can't hold \"..\", \"@{\" or \"//\": name one branch, one tag or one commit",
        ),
        rule(
            r"self.startsWith('semver:') || !self.matches(r'[\p{Cc}\p{Z}~^:?*\[\\]')",
            "git.ref can't hold spaces, control characters or any of ~ ^ : ? * [ \\: remove them (a range of versions begins with \"semver:\")",
        ),
        rule(
            r"self.startsWith('semver:') || !self.matches(r'(^|/)\.|\.(/|$)|\.lock(/|$)|^/|/$|^@$')",
            "git.ref is no name that git takes: no part of it may be empty, begin or end with \".\" or end with \".lock\"",
        ),
        rule(
            &format!("!self.startsWith('semver:') || self.matches(r'{SEMVER}')"),
            "git.ref with \"semver:\" needs a range of versions, such as \"semver:>=2.0 <3\"",
        ),
    ])
}

pub(crate) fn git() -> Value {
    let any = METHODS.map(|method| format!("has(self.auth.{method})")).join(" || ");
    rules([
        rule(
            &format!(
                "!self.repo.startsWith('http://') || !has(self.auth) || !({any}) || (has(self.allowInsecureHTTP) && self.allowInsecureHTTP)"
            ),
            "git.auth would be sent in the clear over http://: use https://, or set git.allowInsecureHTTP to true",
        ),
        rule(
            "!has(self.auth) || !has(self.auth.githubApp) || !has(self.auth.githubApp.apiBaseURL) || !self.auth.githubApp.apiBaseURL.startsWith('http://') || (has(self.allowInsecureHTTP) && self.allowInsecureHTTP)",
            "git.auth.githubApp.apiBaseURL would send the App's credentials in the clear over http://: use https://, or set git.allowInsecureHTTP to true",
        ),
    ])
}

pub(crate) fn auth() -> Value {
    let set = METHODS.map(|method| format!("has(self.{method})")).join(", ");
    rules([rule(
        &format!("[{set}].filter(set, set).size() <= 1"),
        "git.auth takes at most one of sshKey, token and githubApp: remove the others",
    )])
}

pub(crate) fn username() -> Value {
    rules([rule(
        r"!self.matches(r'[\p{Cc}:]')",
        "git.auth.token.username can't hold \":\" or control characters: remove them",
    )])
}

pub(crate) fn http_url(field: &str) -> Value {
    rules([http_url_rule(field, "http://proxy.example.com:3128")])
}

pub(crate) fn api_base_url() -> Value {
    let (grammar, message) =
        http_url_rule("git.auth.githubApp.apiBaseURL", "https://github.example.com/api/v3");
    rules([(format!("self == '' || ({grammar})"), message)])
}

fn http_url_rule(field: &str, example: &str) -> (String, String) {
    (
        format!(
            r#"self.matches(r'^https?://{HOST}{PORT}(/.*)?$') && !self.matches(r'[\p{{Cc}}\p{{Z}}\\?#<>"`|]|{INNER_ADDRESS}')"#
        ),
        format!("{field} must be a URL without credentials, such as {example}"),
    )
}
