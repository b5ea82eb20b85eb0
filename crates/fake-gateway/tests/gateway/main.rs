//! The stand-in, asked over real HTTP.

#![expect(clippy::unwrap_used, reason = "test code, its support included")]

mod api;
mod program;
mod scan;
mod support;
