//! The images of this project, on a node.
//!
//! `cargo xtask image` builds them into `target/images`; `STOKER_IMAGES` names another directory.
//! `cargo xtask test` and `cargo xtask e2e` build them first, plain `cargo test` does not.

use std::env;
use std::path::{Path, PathBuf};

use crate::node::Node;

/// Names and tags of the images on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Images {
    /// `stoker-operator`.
    pub operator: String,
    /// `stoker-agent`.
    pub agent: String,
    /// `fake-gateway`, the stand-in for a gateway.
    pub gateway: String,
}

/// Loads all images on the node, if it does not have them yet.
///
/// # Panics
/// When they were not built, or containerd does not accept them.
pub fn load(node: &Node) -> Images {
    let directory = directory();
    let load = |name: &str| {
        let archive = directory.join(format!("{name}.tar"));
        let missing = "does not exist; build the images with `cargo xtask image`";
        assert!(archive.is_file(), "{} {missing}", archive.display());
        node.load_archive(&archive)
    };
    Images {
        operator: load("stoker-operator"),
        agent: load("stoker-agent"),
        gateway: load("fake-gateway"),
    }
}

/// Returns the directory of the archives, for those who measure them.
pub fn directory() -> PathBuf {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let target = || env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    env::var_os("STOKER_IMAGES").map_or_else(|| root.join(target()).join("images"), PathBuf::from)
}
