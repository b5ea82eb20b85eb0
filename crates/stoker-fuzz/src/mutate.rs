//! Variations of inputs at random, where no fuzzer with coverage is at hand.

use fastrand::Rng;

/// The largest input that is made.
const LARGEST: usize = 64 * 1024;
/// What parsers treat in their own way.
const WORDS: [&[u8]; 24] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b":",
    b",",
    b"null",
    b"true",
    b"-1",
    b"1e999",
    b"\\u0000",
    b"\\ud800",
    b"\0",
    b"\n",
    b"$(",
    b"$$",
    b"{{",
    b"/",
    b"..",
    b"@sha256:",
    b"stoker-agent",
    b"stoker.io/inject",
    b"\xff\xfe",
];

/// Returns a variation of one of the inputs.
pub fn vary(inputs: &[Vec<u8>], random: &mut Rng) -> Vec<u8> {
    let mut input = random.choice(inputs).cloned().unwrap_or_default();
    for _ in 0..random.usize(1..8) {
        let at = random.usize(0..=input.len());
        let until = random.usize(at..=input.len().min(at + 64));
        match random.u8(0..6) {
            0 if at < input.len() => input[at] ^= 1 << random.u8(0..8),
            1 => drop(input.drain(at..until)),
            2 => insert(&mut input, at, random.choice(WORDS).unwrap_or_default()),
            3 => {
                let copy = input[at..until].repeat(random.usize(1..50));
                insert(&mut input, at, &copy);
            }
            4 => {
                let other = random.choice(inputs).map(Vec::as_slice).unwrap_or_default();
                let from = random.usize(0..=other.len());
                insert(&mut input, at, &other[from..other.len().min(from + 256)]);
            }
            _ => input.truncate(at.max(input.len() / 2)),
        }
        input.truncate(LARGEST);
    }
    input
}

fn insert(input: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    drop(input.splice(at..at, bytes.iter().copied()));
}
