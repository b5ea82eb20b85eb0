//! The way of a new user: from `helm install` to the second commit, and away again.

#![expect(clippy::unwrap_used, reason = "a claim that can't go on has failed")]

#[path = "01-the-page-works/claim.rs"]
mod c01;
#[path = "02-nothing-holds-on-after-uninstall/claim.rs"]
mod c02;

use std::sync::{Mutex, MutexGuard, PoisonError};

use stoker_testkit::node::Node;

/// A cluster has room for one installation, so claims take turns.
static INSTALLATION: Mutex<()> = Mutex::new(());

fn node() -> Option<(&'static Node, MutexGuard<'static, ()>)> {
    let node = Node::or_skip()?;
    Some((node, INSTALLATION.lock().unwrap_or_else(PoisonError::into_inner)))
}
