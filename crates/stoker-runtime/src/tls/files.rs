//! A certificate from files, read again when they change.
//!
//! The kubelet swaps a mounted Secret by renaming the link `..data`. Both files are read through
//! it every few seconds: that finds every kind of swap, and costs two small reads.

use std::path::Path;
use std::time::Duration;

use stoker_api::chain::Chain;

use super::Certificate;
use crate::Shutdown;
use crate::admin::Check;

/// The file with the certificate chain.
pub const CERTIFICATE_FILE: &str = "tls.crt";
/// The file with the private key.
pub const KEY_FILE: &str = "tls.key";

const INTERVAL: Duration = Duration::from_secs(5);

/// Keeps `certificate` in step with the files in `directory` until the end is requested.
///
/// `check` passes as soon as there is a pair. A pair that does not fit is logged and not used.
pub async fn follow(
    directory: &Path,
    certificate: &Certificate,
    check: &Check,
    shutdown: Shutdown,
) {
    let mut follower = Follower::default();
    loop {
        follower.step(directory, certificate, check);
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            () = shutdown.requested() => return,
        }
    }
}

/// What was last read.
#[derive(Default)]
pub(super) struct Follower {
    seen: Option<Pair>,
}

impl Follower {
    pub(super) fn step(&mut self, directory: &Path, certificate: &Certificate, check: &Check) {
        let pair = read(directory);
        if let Some(pair) = pair.filter(|pair| self.seen.as_ref() != Some(pair)) {
            load(directory, certificate, &pair);
            self.seen = Some(pair);
        }
        if certificate.is_loaded() {
            check.pass();
        } else {
            check.fail(format!("no usable certificate in {}", directory.display()));
        }
    }
}

#[derive(PartialEq, Eq)]
struct Pair {
    chain: Vec<u8>,
    key: stoker_api::word::Secret,
}

fn read(directory: &Path) -> Option<Pair> {
    let chain = std::fs::read(directory.join(CERTIFICATE_FILE)).ok()?;
    let key = std::fs::read(directory.join(KEY_FILE)).ok()?;
    Some(Pair { chain, key: stoker_api::word::Secret::new(key) })
}

fn load(directory: &Path, certificate: &Certificate, pair: &Pair) {
    match certificate.swap(&pair.chain, pair.key.reveal()) {
        Ok(()) => tracing::info!(directory = %directory.display(), "loaded the certificate"),
        Err(error) => {
            tracing::warn!(directory = %directory.display(), error = %Chain(&error), "kept the old certificate");
        }
    }
}
