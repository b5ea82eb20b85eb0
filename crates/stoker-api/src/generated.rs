//! What is generated from the words: the CRDs, a policy and the reference pages.
//!
//! Pure functions from types to text; `cargo xtask generate` writes the files, and CI fails when
//! they are stale.

mod definition;
mod fields;
mod policy;
mod reference;

pub use definition::crd_yaml;
pub use policy::{OPERATOR_USER, status_policy};
pub use reference::reference_pages;

#[cfg(test)]
mod tests;
