//! The ground that later suites stand on: pods really start, and nothing of them stays behind.

#![expect(clippy::unwrap_used, reason = "a claim that can't go on has failed")]

#[path = "01-native-sidecar-starts-first/claim.rs"]
mod c01;
#[path = "02-secret-readable-by-its-group-only/claim.rs"]
mod c02;
#[path = "03-service-and-name-answer/claim.rs"]
mod c03;
#[path = "04-kubelet-and-containerd-come-back/claim.rs"]
mod c04;
#[path = "05-nothing-survives-a-killed-run/claim.rs"]
mod c05;
#[path = "06-a-server-outside-answers-a-pod/claim.rs"]
mod c06;
#[path = "07-a-suspended-api-server-stops-nothing/claim.rs"]
mod c07;
#[path = "08-our-images-reach-git-servers-outside/claim.rs"]
mod c08;

use std::ops::Deref;
use std::sync::{Once, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use stoker_testkit::image::Image;
use stoker_testkit::node::Node;

/// The image that these claims run: a shell and the usual small programs.
const IMAGE: &str = "stoker.test/shell:1";

/// Held for reading by claims that need a healthy node, for writing by the one that breaks it.
static HEALTH: RwLock<()> = RwLock::new(());

/// The run's node with that image on it, in good health while this value lives.
struct Healthy {
    node: &'static Node,
    _guard: RwLockReadGuard<'static, ()>,
}

impl Deref for Healthy {
    type Target = Node;

    fn deref(&self) -> &Node {
        self.node
    }
}

fn node() -> Option<Healthy> {
    let node = loaded()?;
    Some(Healthy { node, _guard: HEALTH.read().unwrap_or_else(PoisonError::into_inner) })
}

/// The node for the claim that breaks it, alone.
fn node_to_break() -> Option<(&'static Node, RwLockWriteGuard<'static, ()>)> {
    let node = loaded()?;
    Some((node, HEALTH.write().unwrap_or_else(PoisonError::into_inner)))
}

fn loaded() -> Option<&'static Node> {
    static LOADED: Once = Once::new();
    let node = Node::or_skip()?;
    LOADED.call_once(|| {
        let shell = Image::named(IMAGE).with_busybox().expect("busybox is on this machine");
        node.load(&shell.entrypoint(["/bin/sh", "-c"]));
    });
    Some(node)
}
