//! The file engine of Stoker: brings a directory to exactly the state of a commit, safely.
//!
//! Knows neither Kubernetes nor git nor the gateway's API. A [`source::Source`] says what a commit
//! holds; everything else follows from that, the mappings, and the manifest of the last sync.

pub mod source;
