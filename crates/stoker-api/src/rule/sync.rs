//! Rules about profiles, mappings and patches.

use serde_json::Value;

use super::{rule, rules};

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

pub(crate) fn patch_set() -> Value {
    rules([rule(
        "self.all(path, path != '' && size(path) <= 512)",
        "the paths in patches.set have 1 to 512 characters: correct them",
    )])
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

pub(crate) fn percent(field: &str) -> Value {
    rules([(
        "self >= 0 && self <= 100".to_owned(),
        format!("{field} is a percentage: set 0 to 100"),
    )])
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

/// What a glob must close. Escapes and classes hide brackets, so then the webhook has the last
/// word.
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
