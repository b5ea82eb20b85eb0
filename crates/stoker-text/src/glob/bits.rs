//! Sets of token positions, one bit each.

/// A set of positions; the position behind the last token means that everything was matched.
pub(super) type Bits<const W: usize> = [u64; W];

pub(super) fn insert<const W: usize>(bits: &mut Bits<W>, at: usize) {
    bits[at / 64] |= 1 << (at % 64);
}

pub(super) fn remove<const W: usize>(bits: &mut Bits<W>, at: usize) {
    bits[at / 64] &= !(1 << (at % 64));
}

pub(super) fn is_empty<const W: usize>(bits: &Bits<W>) -> bool {
    bits.iter().all(|word| *word == 0)
}

pub(super) fn and<const W: usize>(left: &Bits<W>, right: &Bits<W>) -> Bits<W> {
    std::array::from_fn(|word| left[word] & right[word])
}

pub(super) fn or<const W: usize>(left: &Bits<W>, right: &Bits<W>) -> Bits<W> {
    std::array::from_fn(|word| left[word] | right[word])
}

/// Moves every position one further.
pub(super) fn shifted<const W: usize>(bits: &Bits<W>) -> Bits<W> {
    std::array::from_fn(|word| {
        let carry = if word == 0 { 0 } else { bits[word - 1] >> 63 };
        bits[word] << 1 | carry
    })
}
