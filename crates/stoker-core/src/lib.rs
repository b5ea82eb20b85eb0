//! The decisions of Stoker: plain functions over plain values.
//!
//! No I/O, no async, no clock. Edges read the world and hand in what they saw; what comes out says
//! what is to be done, and can be printed.

pub mod profile;
pub mod refs;
pub mod remedy;
