//! Whom a TLS connection trusts: given certificates, the system's, or (on loopback) any.

mod verifier;

use std::sync::Arc;

use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};

use verifier::Verifier;

/// The text holds no certificate that can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("holds no usable certificate in PEM form")]
pub struct NoCertificate;

/// Trusts the certificate authorities of the system. Where it has none, every server is refused.
pub fn system() -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    Arc::new(builder().with_root_certificates(roots).with_no_client_auth())
}

/// Trusts servers whose certificate is among these, or signed by one of them.
pub fn pinned(pem: &[u8]) -> Result<Arc<ClientConfig>, NoCertificate> {
    let certificates = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    let certificates = certificates.map_err(|_| NoCertificate)?;
    let mut roots = RootCertStore::empty();
    for certificate in &certificates {
        roots.add(certificate.clone()).map_err(|_| NoCertificate)?;
    }
    // Without a single root it is refused here.
    let verifier = Verifier::pinned(roots, certificates, provider()).map_err(|_| NoCertificate)?;
    Ok(verified_by(Arc::new(verifier)))
}

/// Trusts any certificate; only the handshake is verified. For loopback alone, where bytes do not
/// leave the machine.
pub fn any() -> Arc<ClientConfig> {
    verified_by(Arc::new(Verifier::any(&provider())))
}

fn verified_by(verifier: Arc<dyn ServerCertVerifier>) -> Arc<ClientConfig> {
    let builder = builder().dangerous().with_custom_certificate_verifier(verifier);
    Arc::new(builder.with_no_client_auth())
}

fn builder() -> ConfigBuilder<ClientConfig, WantsVerifier> {
    ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .expect("the provider knows TLS 1.2 and 1.3")
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}
