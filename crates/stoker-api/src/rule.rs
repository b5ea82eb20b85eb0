//! The CEL rules of the schema: what is refused at apply time, and what the user is told.
//!
//! Every message names the field and the remedy. The rules accept what the parsers in
//! [`crate::word`] accept; where CEL can't say a thing within its budget (the syntax of templates and
//! globs in full, the values of `set`), the validating webhook says it. The budget: a rule costs its
//! own estimate times the number of places it may stand in, see [`crate::limit`].

mod grammar;

use serde_json::{Value, json};

use grammar::{HOST, INTERVAL, PORT, SEMVER, USER};

fn rules<const N: usize>(pairs: [(String, String); N]) -> Value {
    pairs.into_iter().map(|(rule, message)| json!({ "rule": rule, "message": message })).collect()
}

fn rule(rule: &str, message: &str) -> (String, String) {
    (rule.to_owned(), message.to_owned())
}

/// A field of a later version: refused whatever its value is.
pub(crate) fn reserved(field: &str) -> Value {
    rules([rule("false", &format!("{field} is not supported by this version; remove it"))])
}

/// The name of a GatewaySync becomes the value of a label.
pub(crate) fn cr_name() -> Value {
    rules([rule(
        &format!("size(self.metadata.name) <= {}", crate::limit::CR_NAME),
        "metadata.name has at most 63 characters, because objects carry it as a label: shorten it",
    )])
}

pub(crate) fn repo_url() -> Value {
    let grammar = [
        format!(r"^(https?|git)://([^/@]*@)?{HOST}{PORT}/.+$"),
        format!(r"^ssh://([^/@]*:[^/@]*@|{USER}@)?{HOST}{PORT}/.+$"),
        r"^file://(localhost)?/.+$".to_owned(),
        format!(r"^({USER}@)?[A-Za-z0-9][A-Za-z0-9._-]*:([^:/-]|/[^/]|/$).*$"),
    ];
    let grammar = grammar.map(|form| format!("self.matches(r'{form}')")).join(" || ");
    rules([
        rule(
            r#"!self.matches(r'[\p{Cc}\p{Z}\\?#<>"`|]')"#,
            "git.repo holds a character that a URL can't hold (a space, a control character, or one of \\ ? # < > \" ` |): remove it",
        ),
        rule(
            r"!self.matches(r'^(https?|git)://[^/]*@|^ssh://[^/@]*:[^/]*@|^[^/:]+:[^/]*@')",
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
    rules([
        rule(
            "!self.repo.startsWith('http://') || !has(self.auth) || !(has(self.auth.sshKey) || has(self.auth.token) || has(self.auth.githubApp)) || (has(self.allowInsecureHTTP) && self.allowInsecureHTTP)",
            "git.auth would be sent in the clear over http://: use https://, or set git.allowInsecureHTTP to true",
        ),
        rule(
            "!has(self.auth) || !has(self.auth.githubApp) || !has(self.auth.githubApp.apiBaseURL) || !self.auth.githubApp.apiBaseURL.startsWith('http://') || (has(self.allowInsecureHTTP) && self.allowInsecureHTTP)",
            "git.auth.githubApp.apiBaseURL would send the App's credentials in the clear over http://: use https://, or set git.allowInsecureHTTP to true",
        ),
    ])
}

pub(crate) fn auth() -> Value {
    rules([rule(
        "[has(self.sshKey), has(self.token), has(self.githubApp)].filter(set, set).size() <= 1",
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
            r#"self.matches(r'^https?://{HOST}{PORT}(/.*)?$') && !self.matches(r'[\p{{Cc}}\p{{Z}}\\?#<>"`|]')"#
        ),
        format!("{field} must be a URL without credentials, such as {example}"),
    )
}

pub(crate) fn interval(field: &str) -> Value {
    rules([(
        format!("self.matches(r'{INTERVAL}') && duration(self) >= duration('5s')"),
        format!("{field} must be an interval of at least 5s, such as 60s, 5m or 1h30m"),
    )])
}

pub(crate) fn interval_or_zero(field: &str) -> Value {
    rules([(
        format!(
            "self.matches(r'{INTERVAL}') && (duration(self) == duration('0s') || duration(self) >= duration('5s'))"
        ),
        format!("{field} must be 0 or an interval of at least 5s, such as 60s, 5m or 1h30m"),
    )])
}

pub(crate) fn gateway() -> Value {
    rules([rule(
        "!(has(self.api) && has(self.apiKeySecretRef))",
        "gateway.api and gateway.apiKeySecretRef mean the same: set only one of the two",
    )])
}

pub(crate) fn webhook() -> Value {
    rules([rule(
        "!has(self.previousSecretRef) || has(self.secretRef)",
        "webhook.previousSecretRef is the one that is rotated out: set webhook.secretRef, too",
    )])
}

pub(crate) fn object_name() -> Value {
    rules([rule(
        "self.matches(r'^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",
        "the name of a Secret has lower-case letters, digits, \"-\" and \".\" only: correct it",
    )])
}

pub(crate) fn data_key() -> Value {
    rules([rule(
        "self.matches(r'^[-._a-zA-Z0-9]+$')",
        "a key in a Secret has letters, digits, \"-\", \"_\" and \".\" only: correct it",
    )])
}

/// A path in the repository or in the data directory; templates are allowed in it.
pub(crate) fn path(field: &str) -> Value {
    rules([below_root(field), printable(field), balanced(field)])
}

pub(crate) fn destination() -> Value {
    rules([
        below_root("destination"),
        printable("destination"),
        balanced("destination"),
        rule(
            r"!self.matches(r'^(\./)*\.(stoker|sync-staging)(/|$)|(^|/)\.stoker-')",
            "destination can't be .stoker, .sync-staging or begin with .stoker-: these names are Stoker's own; choose another",
        ),
    ])
}

/// Cheaper than the rules for mappings: there may be 32,768 patches, so one rule may read the text
/// once. Whether brackets are closed is left to the webhook.
pub(crate) fn patch_file() -> Value {
    let [_, _, escape] = closed_glob("patches.file");
    rules([
        rule(
            "!self.startsWith('/') && !self.startsWith('-') && !self.startsWith('../') && !self.contains('/../')",
            "patches.file must be a relative path below the mapping's destination: no leading \"/\" or \"-\", no \"..\"",
        ),
        escape,
    ])
}

fn below_root(field: &str) -> (String, String) {
    let message = format!(
        "{field} must be a relative path that stays below its root: no leading \"/\" or \"-\", no \"..\""
    );
    (r"!self.matches(r'^[/-]|(^|/)\.\.(/|$)')".to_owned(), message)
}

fn printable(field: &str) -> (String, String) {
    (
        r"!self.matches(r'\p{Cc}')".to_owned(),
        format!("{field} can't hold control characters: remove them"),
    )
}

fn balanced(field: &str) -> (String, String) {
    (
        "self.split('{{').size() == self.split('}}').size()".to_owned(),
        format!("{field} holds a template that is not balanced: every \"{{{{\" needs its \"}}}}\""),
    )
}

/// What a glob must close. Escapes and classes hide brackets, so then the webhook has the last word.
fn closed_glob(field: &str) -> [(String, String); 3] {
    let closed = |open: char, close: char, unless: &str| {
        (
            format!("{unless} || self.lastIndexOf('{open}') <= self.lastIndexOf('{close}')"),
            format!("{field} holds a glob with a \"{open}\" that is never closed: add \"{close}\""),
        )
    };
    let escape = (
        r"!self.endsWith('\\') || self.endsWith('\\\\')".to_owned(),
        format!(r#"{field} holds a glob that ends with "\", which escapes nothing: remove it"#),
    );
    [
        closed('[', ']', r"self.contains('\\')"),
        closed('{', '}', r"self.contains('\\') || self.contains('[')"),
        escape,
    ]
}

pub(crate) fn glob() -> Value {
    let [class, braces, escape] = closed_glob("excludePatterns");
    rules([printable("excludePatterns"), class, braces, escape])
}

pub(crate) fn var_keys() -> Value {
    rules([rule(
        "self.all(key, key.matches(r'^[A-Za-z_][A-Za-z0-9_]{0,62}$'))",
        "the names in vars must be identifiers, so that templates can say {{.Vars.name}}: letters, digits and \"_\", not beginning with a digit, at most 63 characters",
    )])
}

pub(crate) fn profile_names() -> Value {
    rules([
        rule(
            "self.size() > 0",
            "sync.profiles is empty: add a profile, such as \"default\", or leave sync.profiles out and use SyncProfile objects",
        ),
        rule(
            "self.all(name, name.matches(r'^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",
            "the names in sync.profiles have at most 63 letters, digits, \"-\", \"_\" and \".\", and begin and end with a letter or a digit: rename the profile",
        ),
    ])
}

pub(crate) fn mappings() -> Value {
    rules([rule(
        "self.size() > 0",
        "mappings is empty: add a mapping, such as {source: projects, destination: projects}",
    )])
}

pub(crate) fn percent(field: &str) -> Value {
    rules([(
        "self >= 0 && self <= 100".to_owned(),
        format!("{field} is a percentage: set 0 to 100"),
    )])
}

pub(crate) fn patch_set() -> Value {
    rules([rule(
        "self.all(path, path != '' && size(path) <= 512)",
        "the paths in patches.set have 1 to 512 characters: correct them",
    )])
}

pub(crate) fn image_repository() -> Value {
    rules([rule(
        r"self.matches(r'^([a-z0-9]([a-z0-9._-]*[a-z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*)?$')",
        "agent.image.repository must be the name of an image without tag and digest, such as registry.example.com/stoker-agent",
    )])
}

pub(crate) fn image_tag() -> Value {
    rules([rule(
        r"self.matches(r'^([A-Za-z0-9_][A-Za-z0-9._-]*)?$')",
        "agent.image.tag must be a tag, such as 1.4.0",
    )])
}

pub(crate) fn image_digest() -> Value {
    rules([rule(
        r"self.matches(r'^(sha256:[a-f0-9]{64})?$')",
        "agent.image.digest must be \"sha256:\" and 64 hexadecimal digits",
    )])
}
