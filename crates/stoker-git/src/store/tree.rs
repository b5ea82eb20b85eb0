//! Reads git's tree objects.

use stoker_sync::source::{Entry, Kind, ObjectId};

/// Reads the entries of a tree, each `<mode> <name> NUL <20 bytes>`.
///
/// Any name is accepted. The planner refuses bad ones.
pub(super) fn parse(mut bytes: &[u8]) -> Option<Vec<Entry>> {
    let mut entries = Vec::with_capacity(bytes.len() / 40);
    while !bytes.is_empty() {
        let blank = bytes.iter().position(|byte| *byte == b' ')?;
        let kind = Kind::parse_mode(&bytes[..blank])?;
        let rest = &bytes[blank + 1..];
        let end = rest.iter().position(|byte| *byte == 0)?;
        let (id, after) = rest[end + 1..].split_first_chunk::<20>()?;
        entries.push(Entry { name: rest[..end].into(), kind, id: ObjectId(*id) });
        bytes = after;
    }
    Some(entries)
}

/// Reads the id of a commit's tree: its first line is `tree <40 digits>`.
pub(super) fn of_commit(bytes: &[u8]) -> Option<ObjectId> {
    let line = bytes.strip_prefix(b"tree ")?;
    ObjectId::parse_hex(line.get(..40)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tree(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let entry =
            |(mode, name): &(&str, &[u8])| [mode.as_bytes(), b" ", name, b"\0", &[7; 20]].concat();
        entries.iter().flat_map(entry).collect()
    }

    #[test]
    fn entries_come_as_they_are_written() {
        let bytes = tree(&[("100644", b"a b"), ("40000", b".."), ("120000", b"\xff")]);
        let entries = parse(&bytes).unwrap();
        let seen: Vec<_> = entries.iter().map(|entry| (&*entry.name, entry.kind)).collect();
        let expected: [(&[u8], _); 3] =
            [(b"a b", Kind::File), (b"..", Kind::Dir), (b"\xff", Kind::Symlink)];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_truncated_tree_and_an_unknown_mode_are_refused() {
        let whole = tree(&[("100644", b"a")]);
        for length in 1..whole.len() {
            assert_eq!(parse(&whole[..length]), None, "{length}");
        }
        assert_eq!(parse(&tree(&[("10064x", b"a")])), None);
        assert_eq!(parse(b""), Some(vec![]));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            parse(&bytes);
            of_commit(&bytes);
        }
    }
}
