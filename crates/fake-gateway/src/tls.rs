//! The certificate of the TLS port: an authority made at start and a leaf for `localhost` and
//! `127.0.0.1`, or both in one.

use std::io;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

/// What a TLS port needs, and what its clients need.
pub(crate) struct Identity {
    pub(crate) acceptor: TlsAcceptor,
    pub(crate) authority_pem: String,
}

impl Identity {
    /// Makes a new authority and a leaf signed by it.
    pub(crate) fn generate() -> io::Result<Self> {
        let (params, key) = authority(Vec::new())?;
        let authority = params.self_signed(&key).map_err(io::Error::other)?;
        let (leaf, leaf_key) = leaf(&Issuer::new(params, key))?;
        Self::new(leaf, &leaf_key, authority.pem())
    }

    /// Makes a certificate that is its own authority, for `localhost`.
    pub(crate) fn generate_self_signed() -> io::Result<Self> {
        let (params, key) = authority(vec!["localhost".to_owned()])?;
        let certificate = params.self_signed(&key).map_err(io::Error::other)?;
        Self::new(certificate.der().clone(), &key, certificate.pem())
    }

    fn new(
        leaf: CertificateDer<'static>,
        key: &KeyPair,
        authority_pem: String,
    ) -> io::Result<Self> {
        let acceptor = TlsAcceptor::from(Arc::new(config(leaf, key)?));
        Ok(Self { acceptor, authority_pem })
    }
}

fn authority(names: Vec<String>) -> io::Result<(CertificateParams, KeyPair)> {
    let key = KeyPair::generate().map_err(io::Error::other)?;
    let mut params = CertificateParams::new(names).map_err(io::Error::other)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, "stand-in authority");
    Ok((params, key))
}

fn leaf(issuer: &Issuer<'_, KeyPair>) -> io::Result<(CertificateDer<'static>, KeyPair)> {
    let key = KeyPair::generate().map_err(io::Error::other)?;
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let params = CertificateParams::new(names).map_err(io::Error::other)?;
    let leaf = params.signed_by(&key, issuer).map_err(io::Error::other)?;
    Ok((leaf.der().clone(), key))
}

fn config(leaf: CertificateDer<'static>, key: &KeyPair) -> io::Result<ServerConfig> {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    // Named, not taken from the process: a library must not depend on who installed what first.
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![leaf], key))
        .map_err(io::Error::other)
}
