//! The one crypto provider of a process: aws-lc-rs.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;

/// Returns the provider of the process, and installs it where none is installed.
pub fn provider() -> Arc<CryptoProvider> {
    if CryptoProvider::get_default().is_none() {
        // Another thread may have been first; then its provider is the one.
        rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
    }
    Arc::clone(CryptoProvider::get_default().expect("one was installed just now"))
}
