//! Claims that hold on a real cluster with a real node.
//!
//! Each suite is a test target of this package (`node/suite.rs`) and each claim a directory below
//! it, with its manifests beside its code. `cargo xtask e2e node 03` runs claim 03 of `node`.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

/// Runs a command with this input.
///
/// # Panics
/// If it can't be started, or does not read its input.
#[expect(clippy::unwrap_used, reason = "a claim that can't go on has failed")]
pub fn piped(command: &mut Command, input: &str) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}
