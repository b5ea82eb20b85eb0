//! What is fuzzed: one function per parser that meets bytes of strangers.
//!
//! The same functions run in three places: `fuzz/` gives them to libFuzzer, a test replays the
//! corpora below `fuzz/corpus` on stable, and the same test varies them at random ([`mutate`]).
//! A function panics where something does not hold that must hold for any input.

mod admission;
pub mod mutate;

/// A function that takes any bytes.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name: the directory of its corpus and the program below `fuzz/fuzz_targets`.
    pub name: &'static str,
    /// The function.
    pub run: fn(&[u8]),
}

/// Everything that is fuzzed.
pub const TARGETS: &[Target] = &[
    Target { name: "admission_review", run: admission::review },
    Target { name: "annotations", run: admission::annotations },
];

/// Runs a target.
///
/// # Panics
/// If there is no target of this name, or if the target found something.
pub fn run(name: &str, input: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.expect("the name is one of TARGETS").run)(input);
}
