//! How Stoker is measured: against a reference tool, in one run, judged by the median of ratios.
//!
//! Machines are shared and noisy, so a second says little. What is compared takes turns, and the
//! ratio of each pair counts. What can be counted (bytes, processes) is counted, not timed. A
//! reference tool that is not installed is named, and its bars are skipped.
//!
//! What is measured is in `benches/`, one target per suite.

pub mod cgroup;
pub mod delivery;
pub mod finding;
pub mod heavy;
pub mod pair;
pub mod place;
pub mod program;
pub mod report;
pub mod suite;
pub mod trace;
pub mod webhook;
