//! What Stoker's tests stand on: a real Kubernetes, real git servers, an Ignition stand-in, faults.
//!
//! Everything here is real where the real thing can run. What a test starts dies with it, also when
//! the test process is killed.

pub mod cluster;
pub mod git;
pub mod https;
pub mod images;
pub mod leak;
pub mod node;
pub mod object;
pub mod page;
pub mod port;
pub mod process;
pub mod program;
pub mod proxy;
pub mod quickstart;
pub mod skip;
mod state;
pub mod tree;
pub mod wait;

pub use fake_gateway as gateway;
pub use stoker_image as image;

use std::error::Error;

/// An error with its causes, each on a line of its own.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str("\n  because: ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// Makes aws-lc-rs the process's crypto provider; a second call changes nothing.
pub fn install_crypto_provider() {
    rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
}
