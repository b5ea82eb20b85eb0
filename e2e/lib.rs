//! Claims that hold on a real cluster with a real node.
//!
//! Each suite is a test target of this package (`node/suite.rs`) and each claim a directory below
//! it, with its manifests beside its code. `cargo xtask e2e node 03` runs claim 03 of `node`.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use stoker_testkit::node::Node;

/// The world of a suite: the first claim makes it, and claims take turns.
#[derive(Debug, Default)]
pub struct Shared<T>(OnceLock<Mutex<T>>);

impl<T> Shared<T> {
    /// A world that is not made yet.
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The world, for one claim at a time; `None` where this machine can't have a node.
    pub fn get(&self, begin: impl FnOnce(&'static Node) -> T) -> Option<MutexGuard<'_, T>> {
        let node = Node::or_skip()?;
        let world = self.0.get_or_init(|| Mutex::new(begin(node)));
        Some(world.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Applies a manifest with this `kubectl`.
///
/// # Panics
/// If the API server refuses it.
pub fn apply(mut kubectl: Command, manifest: &str) {
    let output = piped(kubectl.args(["apply", "--filename=-"]), manifest);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

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
