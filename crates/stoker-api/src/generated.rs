//! What is generated from the words: the CRDs and the reference pages.
//!
//! Pure functions from types to text; `cargo xtask generate` writes the files, and CI fails when
//! they are stale.

mod definition;
mod fields;
mod reference;

pub use definition::crd_yaml;
pub use reference::reference_pages;

#[cfg(test)]
mod tests;
