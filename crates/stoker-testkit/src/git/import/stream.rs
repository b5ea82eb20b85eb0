//! The language of `git fast-import`.

use std::io::{self, Write};

use crate::git::edit::Base;
use crate::git::noise::Noise;
use crate::git::{Content, Edit, Entry, Mode, Oid, Tree};

/// Midnight of 2026-01-01 UTC: the first commit of every repository.
const EPOCH: u64 = 1_767_225_600;
const CHUNK: usize = 64 * 1024;

/// Author, committer and tagger of everything.
pub(in crate::git) const PERSON: &str = "Stoker Test <test@stoker.invalid>";

/// Where a commit goes.
#[derive(Debug)]
pub(in crate::git) struct Place<'a> {
    /// Full name of the ref that moves to the commit.
    pub(in crate::git) reference: &'a str,
    /// The commit before, if there is one.
    pub(in crate::git) parent: Option<&'a Oid>,
    /// Number of the commit within the repository: decides its date.
    pub(in crate::git) tick: u64,
    /// Number under which fast-import remembers the id.
    pub(in crate::git) mark: usize,
}

/// Returns the date of the n-th commit, as git writes it: a minute after the one before.
pub(in crate::git) fn date(tick: u64) -> String {
    format!("{} +0000", EPOCH + 60 * tick)
}

/// Writes one commit. Without a parent in `place`, a ref that this stream has already moved goes on
/// from where it is, and any other begins a new history.
pub(in crate::git) fn write_commit(
    out: &mut impl Write,
    place: &Place<'_>,
    edit: &Edit,
) -> io::Result<()> {
    let Place { reference, parent, tick, mark } = place;
    writeln!(out, "commit {reference}\nmark :{mark}\ncommitter {PERSON} {}", date(*tick))?;
    write_data(out, b"Change")?;
    if let Some(parent) = parent {
        writeln!(out, "from {parent}")?;
    }
    if edit.base == Base::Nothing {
        writeln!(out, "deleteall")?;
    }
    for path in &edit.removed {
        out.write_all(b"D ")?;
        write_path(out, path)?;
        out.write_all(b"\n")?;
    }
    write_tree(out, &edit.added)?;
    writeln!(out)
}

fn write_tree(out: &mut impl Write, tree: &Tree) -> io::Result<()> {
    for (path, entry) in tree.iter() {
        match entry {
            Entry::Blob(mode, _) => write!(out, "M {} inline ", digits(*mode))?,
            Entry::Gitlink(commit) => write!(out, "M 160000 {commit} ")?,
        }
        write_path(out, path)?;
        out.write_all(b"\n")?;
        if let Entry::Blob(_, content) = entry {
            write_content(out, content)?;
        }
    }
    Ok(())
}

fn digits(mode: Mode) -> &'static str {
    match mode {
        Mode::File => "100644",
        Mode::Executable => "100755",
        Mode::Symlink => "120000",
    }
}

fn write_content(out: &mut impl Write, content: &Content) -> io::Result<()> {
    match content {
        Content::Bytes(bytes) => write_data(out, bytes),
        Content::Noise { seed, length } => {
            let mut noise = Noise::new(*seed);
            write_chunks(out, *length, |chunk| noise.fill(chunk))
        }
        Content::Zeros { length } => write_chunks(out, *length, |_| ()),
    }
}

fn write_data(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    writeln!(out, "data {}", bytes.len())?;
    out.write_all(bytes)?;
    out.write_all(b"\n")
}

fn write_chunks(
    out: &mut impl Write,
    length: u64,
    mut fill: impl FnMut(&mut [u8]),
) -> io::Result<()> {
    writeln!(out, "data {length}")?;
    let mut chunk = vec![0; CHUNK];
    let mut left = length;
    while left > 0 {
        let size = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
        fill(&mut chunk[..size]);
        out.write_all(&chunk[..size])?;
        left -= size as u64;
    }
    out.write_all(b"\n")
}

/// Quotes as C does. Bytes above 127 stand for themselves, as git reads them.
fn write_path(out: &mut impl Write, path: &[u8]) -> io::Result<()> {
    let mut quoted = Vec::with_capacity(path.len() + 2);
    quoted.push(b'"');
    for &byte in path {
        match byte {
            b'"' | b'\\' => quoted.extend([b'\\', byte]),
            0..=31 | 127 => write!(quoted, "\\{byte:03o}")?,
            _ => quoted.push(byte),
        }
    }
    quoted.push(b'"');
    out.write_all(&quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_so_that_git_reads_them_back() {
        let mut out = Vec::new();
        write_path(&mut out, b"a \"b\"\\c\nd\xff\x7f").unwrap();
        assert_eq!(out, b"\"a \\\"b\\\"\\\\c\\012d\xff\\177\"");
    }

    #[test]
    fn described_content_has_the_length_it_says() {
        let mut out = Vec::new();
        write_content(&mut out, &Content::Zeros { length: 200_000 }).unwrap();
        assert_eq!(out.len(), "data 200000\n".len() + 200_000 + 1);
    }
}
