//! Encodes numbers and bytes: small numbers take one byte, nothing is aligned.
//!
//! Decoding accepts any input: bytes that are not valid give `None`.

use crate::source::ObjectId;

#[derive(Debug, Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

/// Unpacks what a [`Writer`] packed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl Writer {
    /// Packs a number, seven bits to the byte.
    pub(crate) fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    /// Packs eight bytes as they are: for numbers that are always large.
    pub(crate) fn fixed(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn byte(&mut self, value: u8) {
        self.0.push(value);
    }

    /// Packs bytes with their length.
    pub(crate) fn bytes(&mut self, value: &[u8]) {
        self.number(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    /// Packs how many items there are, and each of them.
    pub(crate) fn list<T>(&mut self, items: &[T], pack: impl Fn(&mut Self, &T)) {
        self.number(items.len() as u64);
        for item in items {
            pack(self, item);
        }
    }

    pub(crate) fn id(&mut self, ObjectId(bytes): ObjectId) {
        self.0.extend_from_slice(&bytes);
    }
}

impl<'a> Reader<'a> {
    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    pub(crate) fn list<T>(&mut self, unpack: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = usize::try_from(self.number()?).ok()?;
        // Every item takes a byte at least: a larger count is damage, not a reason to allocate.
        (count <= self.0.len()).then(|| (0..count).map(|_| unpack(self)).collect())?
    }

    pub(crate) fn fixed(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)
    }

    pub(crate) fn id(&mut self) -> Option<ObjectId> {
        Some(ObjectId(self.take(20)?.try_into().ok()?))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_packed_is_unpacked(number: u64, fixed: u64, bytes: Vec<u8>, id: [u8; 20]) {
            let mut writer = Writer::default();
            writer.number(number);
            writer.fixed(fixed);
            writer.bytes(&bytes);
            writer.id(ObjectId(id));
            let mut reader = Reader(&writer.0);
            prop_assert_eq!(reader.number(), Some(number));
            prop_assert_eq!(reader.fixed(), Some(fixed));
            prop_assert_eq!(reader.bytes(), Some(bytes.as_slice()));
            prop_assert_eq!(reader.id(), Some(ObjectId(id)));
            prop_assert!(reader.0.is_empty());
        }

        #[test]
        fn damage_is_none_and_never_a_panic(bytes: Vec<u8>) {
            let mut reader = Reader(&bytes);
            while reader.bytes().and_then(|_| reader.number()).is_some() {}
            let _: Option<Vec<u8>> = Reader(&bytes).list(Reader::byte);
        }
    }
}
