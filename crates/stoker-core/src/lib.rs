//! The decisions of Stoker: plain functions over plain values.
//!
//! No I/O, no async, no clock. Edges read the world and hand in what they saw; what comes out says
//! what is to be done, and can be printed.

pub mod admission;
pub mod applied;
pub mod audit;
pub mod backoff;
pub mod bootstrap;
pub mod defaults;
pub mod doctor;
pub mod gateway;
pub mod metadata;
pub mod migrate;
pub mod payload;
pub mod profile;
pub mod reconcile;
pub mod refs;
pub mod remedy;
pub mod repair;
pub mod request;
pub mod status;
#[cfg(test)]
mod testing;
pub mod view;
