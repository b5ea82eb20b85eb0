//! Whom we trust on a TLS connection: a given authority, else the system's, else the loopback
//! interface itself.

mod distrust;
mod given;

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use stoker_sync::given as file;

pub(crate) use distrust::why;

use crate::endpoint::Address;
use crate::error::Error;
use given::Given;

/// Far more than all authorities of a system have.
const LIMIT: u64 = 4 * 1024 * 1024;

/// Returns how to connect to `address`.
///
/// A gateway's own certificate is self-signed and never for `127.0.0.1`. Where bytes do not leave
/// the machine it proves nothing that plain HTTP, which is the default there, would not: so it is
/// not asked to. What is given always counts (decision 0019).
pub(crate) fn config(
    address: &Address,
    authorities: Option<&Path>,
) -> Result<Arc<ClientConfig>, Error> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::StartRuntime { source: io::Error::other(error) })?;
    let config = match authorities {
        Some(path) => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(given(path, provider)?))
            .with_no_client_auth(),
        None if address.is_loopback() => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Loopback::new(&provider)))
            .with_no_client_auth(),
        None => builder.with_root_certificates(system()).with_no_client_auth(),
    };
    Ok(Arc::new(config))
}

fn given(path: &Path, provider: Arc<CryptoProvider>) -> Result<Given, Error> {
    let unusable = || Error::UnusableAuthorities { path: path.to_owned() };
    let pem = file::read(path, LIMIT)
        .map_err(|source| Error::ReadAuthorities { path: path.to_owned(), source })?;
    let certificates = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
    let certificates = certificates.map_err(|_| unusable())?;
    let mut roots = RootCertStore::empty();
    for certificate in &certificates {
        roots.add(certificate.clone()).map_err(|_| unusable())?;
    }
    // Without a single root it is refused here.
    Given::new((roots, certificates), provider).map_err(|_| unusable())
}

/// What the system trusts; where it trusts nobody, nobody is trusted and the error says so per
/// call.
fn system() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

/// Trusts whoever answers on loopback; the handshake itself is still checked.
#[derive(Debug)]
struct Loopback(WebPkiSupportedAlgorithms);

impl Loopback {
    fn new(provider: &CryptoProvider) -> Self {
        Self(provider.signature_verification_algorithms)
    }
}

impl ServerCertVerifier for Loopback {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
