//! The certificate of the TLS port: an authority made at start, a leaf for `localhost` and `127.0.0.1`.

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
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let mut params = CertificateParams::new(Vec::new()).map_err(io::Error::other)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, "stand-in authority");
        let authority = params.self_signed(&key).map_err(io::Error::other)?;
        let issuer = Issuer::new(params, key);
        let (leaf, leaf_key) = leaf(&issuer)?;
        let acceptor = TlsAcceptor::from(Arc::new(config(leaf, &leaf_key)?));
        Ok(Self { acceptor, authority_pem: authority.pem() })
    }
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
