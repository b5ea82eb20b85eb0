//! A server certificate that can be swapped while connections are open.
//!
//! # Promises
//! A new pair is used from the next handshake on. A pair that can't be read, or whose key does not
//! belong to its certificate, is refused, and the old one stays in use. TLS 1.2 and 1.3 only.

mod files;

use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;

pub use crate::crypto::provider;
pub use files::{CERTIFICATE_FILE, KEY_FILE, follow};

/// Why a pair of certificate and key is not used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The certificate is not PEM, or there is none in it.
    #[error("the certificate can't be read")]
    Certificate,
    /// The key is not PEM, or there is none in it.
    #[error("the private key can't be read")]
    Key,
    /// The two do not belong together, or the key is of an unknown kind.
    #[error("the private key does not fit the certificate")]
    Pair(#[source] rustls::Error),
}

/// The certificate of a server. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Certificate(Arc<Slot>);

#[derive(Debug, Default)]
struct Slot(RwLock<Option<Arc<CertifiedKey>>>);

impl Certificate {
    /// Uses this pair (PEM) from the next handshake on.
    pub fn swap(&self, chain: &[u8], key: &[u8]) -> Result<(), Error> {
        let chain = CertificateDer::pem_slice_iter(chain).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|_| Error::Certificate)?;
        if chain.is_empty() {
            return Err(Error::Certificate);
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| Error::Key)?;
        let pair = CertifiedKey::from_der(chain, key, &provider()).map_err(Error::Pair)?;
        *self.0.0.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(pair));
        Ok(())
    }

    /// Says whether there is a pair.
    pub fn is_loaded(&self) -> bool {
        self.0.current().is_some()
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
            .expect("the provider has cipher suites for both versions")
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&self.0) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        TlsAcceptor::from(Arc::new(config))
    }
}

impl Slot {
    fn current(&self) -> Option<Arc<CertifiedKey>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ResolvesServerCert for Slot {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.current()
    }
}

#[cfg(test)]
mod tests;
