//! The proxy's own certificate: a CA that lives as long as the proxy, and a leaf for loopback.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use super::Error;

/// What the server side needs, and what clients must trust.
pub(super) struct Identity {
    pub(super) acceptor: TlsAcceptor,
    pub(super) ca: CertificateDer<'static>,
    pub(super) ca_pem: String,
}

impl Identity {
    /// Makes a fresh CA and a certificate for 127.0.0.1 and localhost.
    pub(super) fn generate() -> Result<Self, Error> {
        let ca_key = KeyPair::generate().map_err(Error::Certify)?;
        let mut ca = CertificateParams::default();
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        ca.distinguished_name.push(DnType::CommonName, "fault proxy CA");
        let ca_certificate = ca.self_signed(&ca_key).map_err(Error::Certify)?;
        let issuer = Issuer::new(ca, ca_key);

        let key = KeyPair::generate().map_err(Error::Certify)?;
        let names = ["127.0.0.1".to_owned(), "localhost".to_owned()];
        let leaf = CertificateParams::new(names).map_err(Error::Certify)?;
        let leaf = leaf.signed_by(&key, &issuer).map_err(Error::Certify)?;
        Ok(Self {
            acceptor: acceptor(leaf.der().clone(), &key)?,
            ca: ca_certificate.der().clone(),
            ca_pem: ca_certificate.pem(),
        })
    }
}

fn acceptor(leaf: CertificateDer<'static>, key: &KeyPair) -> Result<TlsAcceptor, Error> {
    let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(Error::ReadKey)?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(Error::ConfigureTls)?
        .with_no_client_auth()
        .with_single_cert(vec![leaf], key)
        .map_err(Error::ConfigureTls)?;
    // One request at a time per connection: cutting a connection cuts exactly one request.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
