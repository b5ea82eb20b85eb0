//! The smallest program that serves git: what `stoker` and the agent do first, and nothing else.
//!
//! Tests of this crate run it; programs link the function instead.

use std::process::ExitCode;

fn main() -> ExitCode {
    stoker_git::helper::serve().unwrap_or(ExitCode::FAILURE)
}
