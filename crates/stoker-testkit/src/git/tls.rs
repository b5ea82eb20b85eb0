//! A private certificate authority, and server certificates with every flaw worth testing (B12).

use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tempfile::TempDir;

use super::{Error, run};

/// A certificate authority that only this test knows.
#[derive(Debug)]
pub struct Authority {
    directory: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

/// What is wrong with a server certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// Nothing: valid for `127.0.0.1`, `localhost` and the address of a node.
    None,
    /// It names another host.
    WrongHost,
    /// Its time is over.
    Expired,
    /// It is signed by itself, not by the authority.
    SelfSigned,
}

/// A server's certificate with its key.
#[derive(Debug)]
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Authority {
    /// Makes a new authority; its certificate is in [`Authority::file`].
    pub fn new() -> Result<Self, Error> {
        let directory = run::directory("stoker-ca-")?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "Stoker Test CA");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().map_err(certificate)?;
        let pem = params.self_signed(&key).map_err(certificate)?.pem();
        let authority = Self { directory, issuer: Issuer::new(params, key) };
        std::fs::write(authority.file(), pem).map_err(Error::file(authority.file()))?;
        Ok(authority)
    }

    /// Returns the PEM file with the authority's certificate: what a client must trust.
    pub fn file(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    /// Issues a server certificate.
    pub fn issue(&self, flaw: Flaw) -> Result<Identity, Error> {
        let hosts = match flaw {
            Flaw::WrongHost => vec!["other.invalid".to_owned()],
            Flaw::None | Flaw::Expired | Flaw::SelfSigned => {
                let node = std::net::IpAddr::from(crate::node::inside::ADDRESS);
                vec!["127.0.0.1".to_owned(), "localhost".to_owned(), node.to_string()]
            }
        };
        let mut params = CertificateParams::new(hosts).map_err(certificate)?;
        params.distinguished_name.push(DnType::CommonName, "Stoker Test Server");
        if flaw == Flaw::Expired {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2020, 2, 1);
        }
        let key = KeyPair::generate().map_err(certificate)?;
        let signed = match flaw {
            Flaw::SelfSigned => params.self_signed(&key),
            Flaw::None | Flaw::WrongHost | Flaw::Expired => params.signed_by(&key, &self.issuer),
        };
        let certificate = signed.map_err(certificate)?.der().clone();
        Ok(Identity { certificate, key: key.into() })
    }
}

impl Identity {
    /// Returns what a server needs to present this identity, over HTTP/1.1.
    pub(crate) fn server_config(&self) -> Result<Arc<ServerConfig>, Error> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|source| Error::Tls { source })?
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], self.key.clone_key())
            .map_err(|source| Error::Tls { source })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

fn certificate(source: rcgen::Error) -> Error {
    Error::Certificate { source }
}
