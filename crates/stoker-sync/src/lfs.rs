//! Git LFS pointers: the few lines that stand for a file whose bytes are kept elsewhere.

/// Pointers are shorter than this.
pub(crate) const SIZE: u64 = 1024;

const BEGINNING: &[u8] = b"version https://git-lfs.github.com/spec/";
const OBJECT: &[u8] = b"\noid ";

/// Returns whether bytes of this size can be a pointer.
pub(crate) fn may_be(size: u64) -> bool {
    (BEGINNING.len() as u64..SIZE).contains(&size)
}

/// Returns whether these are the bytes of a pointer: they say which object they stand for.
pub(crate) fn is_pointer(bytes: &[u8]) -> bool {
    may_be(bytes.len() as u64)
        && bytes.starts_with(BEGINNING)
        && bytes.windows(OBJECT.len()).any(|line| line == OBJECT)
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
