//! The text engines of Stoker: path globs, image references, Go templates and byte-exact JSON edits.
//!
//! Everything here is a pure function over text that strangers wrote: no disk, no environment, no
//! clock, no panic, and a bound on time and memory for every input. What the results mean (which
//! files a mapping owns, where a rendered file goes) is for the crates above to decide.
//!
//! Each engine follows a Go original and is tested against vectors made with it; where it differs
//! on purpose, `docs/reference/text-deviations.md` says so and names the test.

pub mod glob;
pub mod image;
pub mod json;
pub mod template;
