//! Names that a tree can carry and a careful program must not trust (promise A10).
//!
//! Use them with [`Repo::commit_name`](super::Repo::commit_name) or [`RawEntry`](super::RawEntry).

/// A name of one tree entry, with the reason why it is here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostileName {
    /// Why it is hostile.
    pub why: &'static str,
    /// The bytes: never empty, which not even git can send, and without a NUL, which ends a name.
    pub name: Vec<u8>,
}

const ESCAPES: &[(&str, &[u8])] = &[
    ("parent directory", b".."),
    ("this directory", b"."),
    ("path out of the tree", b"../outside"),
    ("path out of the tree, deep", b"../../../../../../tmp/outside"),
    ("absolute path", b"/tmp/outside"),
    ("slash inside", b"a/b"),
    ("slash at the end", b"a/"),
    ("two slashes", b"a//b"),
    ("dots inside a path", b"a/../../b"),
    ("root", b"/"),
    ("backslash path", b"..\\outside"),
    ("drive letter", b"C:\\outside"),
    ("network path", b"\\\\host\\share"),
];

const REPOSITORY: &[(&str, &[u8])] = &[
    ("the repository itself", b".git"),
    ("the repository in capitals", b".GIT"),
    ("the repository in mixed case", b".gIt"),
    ("short name of the repository", b"git~1"),
    ("short name in capitals", b"GIT~1"),
    ("trailing dot, dropped by some systems", b".git."),
    ("trailing space, dropped by some systems", b".git "),
    ("trailing dots and spaces", b".git. . "),
    ("alternate data stream", b".git::$INDEX_ALLOCATION"),
    ("stream of a file", b"view.json::$DATA"),
    ("ignored code point inside", ".g\u{200c}it".as_bytes()),
    ("ignored mark before", "\u{feff}.git".as_bytes()),
    ("path into the repository", b".git/hooks/post-checkout"),
    ("backslash path into the repository", b".git\\config"),
    ("modules file", b".gitmodules"),
    ("short name of the modules file", b"gitmod~1"),
    ("attributes file", b".gitattributes"),
];

const OURS: &[(&str, &[u8])] = &[
    ("our state directory", b".stoker"),
    ("our staging directory", b".sync-staging"),
    ("our temporary file", b".stoker-0000"),
    ("the gateway's cache", b".resources"),
    ("the kubelet's link", b"..data"),
    ("the kubelet's directory", b"..2026_11_15_00_00_00.1"),
];

const BYTES: &[(&str, &[u8])] = &[
    ("newline", b"a\nb"),
    ("newline at the end", b"a\n"),
    ("carriage return", b"a\rb"),
    ("tab", b"a\tb"),
    ("bell", b"a\x07b"),
    ("backspace over the name", b"good\x08\x08\x08\x08evil"),
    ("escape sequence", b"\x1b[2J\x1b]0;title\x07"),
    ("delete", b"a\x7fb"),
    ("first control byte", b"\x01"),
    ("C1 control", "a\u{9b}31mb".as_bytes()),
    ("invalid UTF-8", b"a\xffb"),
    ("lone continuation", b"\x80"),
    ("cut sequence", b"caf\xc3"),
    ("overlong slash", b"a\xc0\xafb"),
    ("overlong dots", b"\xc0\xae\xc0\xae"),
    ("surrogate half", b"a\xed\xa0\x80b"),
    ("Latin-1", b"caf\xe9"),
    ("right-to-left override", "view\u{202e}nosj.exe".as_bytes()),
    ("zero width space", "vi\u{200b}ew.json".as_bytes()),
    ("line separator", "a\u{2028}b".as_bytes()),
    ("composed accent", "caf\u{e9}.json".as_bytes()),
    ("decomposed accent", "cafe\u{301}.json".as_bytes()),
];

const WORDS: &[(&str, &[u8])] = &[
    ("leading dash", b"-rf"),
    ("option", b"--upload-pack=x"),
    ("leading space", b" a"),
    ("trailing space", b"a "),
    ("only a space", b" "),
    ("trailing dot", b"a."),
    ("three dots", b"..."),
    ("quote", b"a\"b"),
    ("apostrophe", b"a'b"),
    ("shell", b"$(touch outside)"),
    ("backtick", b"`id`"),
    ("glob", b"*"),
    ("question", b"a?b"),
    ("pipe", b"a|b"),
    ("angle brackets", b"<a>"),
    ("colon", b"a:b"),
    ("percent code of dots", b"%2e%2e"),
    ("template", b"{{.GatewayName}}"),
    ("home", b"~"),
    ("device", b"CON"),
    ("device with extension", b"aux.json"),
    ("device with number", b"COM1"),
];

/// Returns the whole table: every name once, with its reason.
pub fn names() -> Vec<HostileName> {
    let tables = [ESCAPES, REPOSITORY, OURS, BYTES, WORDS].into_iter().flatten();
    let mut names: Vec<_> =
        tables.map(|(why, name)| HostileName { why, name: name.to_vec() }).collect();
    let long = |why, length| HostileName { why, name: vec![b'n'; length] };
    names.push(long("longest name", 255));
    names.push(long("one byte too long", 256));
    names.push(long("far too long", 5000));
    names.push(HostileName { why: "longest name, two bytes each", name: "é".repeat(128).into() });
    names
}

/// Returns a path `depth` directories deep.
pub fn deep_path(depth: usize) -> String {
    "d/".repeat(depth) + "leaf"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_table_is_wide_and_every_name_is_there_once() {
        let names = names();
        let distinct: HashSet<_> = names.iter().map(|hostile| &hostile.name).collect();
        assert_eq!(distinct.len(), names.len());
        assert!(names.len() >= 80, "{}", names.len());
        assert!(names.iter().all(|hostile| !hostile.name.contains(&0)));
    }
}
