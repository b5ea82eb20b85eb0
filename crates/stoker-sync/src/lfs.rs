//! Git LFS pointers: the few lines that git holds instead of a file that is kept elsewhere. A
//! pointer on a gateway is a broken resource, so a run with one in it is refused.

use std::io::Read as _;
use std::ops::ControlFlow;

use crate::plan::{Plan, Put};
use crate::source::{ObjectId, Source};
use crate::write;

/// Pointers are shorter than this.
pub(crate) const SIZE: u64 = 1024;

const BEGINNING: &[u8] = b"version https://git-lfs.github.com/spec/";
const OBJECT: &[u8] = b"\noid ";

/// Returns whether bytes of this size can be a pointer.
pub(crate) fn may_be(size: u64) -> bool {
    (BEGINNING.len() as u64..SIZE).contains(&size)
}

/// Returns whether these are the bytes of a pointer: they name the object.
pub(crate) fn is_pointer(bytes: &[u8]) -> bool {
    may_be(bytes.len() as u64)
        && bytes.starts_with(BEGINNING)
        && bytes.windows(OBJECT.len()).any(|line| line == OBJECT)
}

impl Plan {
    /// Refuses a plan with a pointer in it, as its write would. Reads small files only.
    pub fn refuse_pointers(&self, source: &mut dyn Source) -> Result<(), write::Error> {
        let may_be = |put: &&Put| put.transform.is_none() && may_be(put.size);
        let puts: Vec<&Put> = self.work.puts.iter().filter(may_be).collect();
        let blobs: Vec<ObjectId> = puts.iter().map(|put| put.blob).collect();
        let mut paths = Vec::new();
        let read = source.read(&blobs, &mut |index, size, content| {
            let mut bytes = Vec::new();
            // A stream that ends early is not a pointer; the write reports it.
            drop(content.take(size.min(SIZE)).read_to_end(&mut bytes));
            if is_pointer(&bytes) {
                paths.push(puts[index].path.clone());
            }
            ControlFlow::Continue(())
        });
        if !paths.is_empty() {
            paths.sort();
            return Err(write::Error::LfsPointers { paths });
        }
        read.map_err(|source| write::Error::Read { source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_names_its_object_and_a_text_about_pointers_does_not() {
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
        assert!(is_pointer(pointer.as_bytes()));
        assert!(!is_pointer(b"version https://git-lfs.github.com/spec/v1 is how one begins\n"));
        assert!(!is_pointer(format!("{pointer}{}", "#".repeat(1024)).as_bytes()));
        assert!(!is_pointer(&pointer.as_bytes()[1..]));
    }
}
