//! The client of a pod: the token of its service account, and the CA beside it.
//!
//! # Promises
//! Both files are read again, because the kubelet replaces them. While one can't be read, what was
//! read last counts.
//!
//! Why not the library's: its client for pods also runs the commands and reads the YAML that a
//! kubeconfig may ask for, which is a tenth of a program that ships.

use std::env::{self, VarError};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use std::{fs, io};

use hyper::Uri;
use hyper::header::{AUTHORIZATION, HeaderValue};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use kube::client::{Body, ClientBuilder, ConfigExt as _};
use kube::{Client, Config};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tower::retry::RetryLayer;
use tower::{BoxError, Service, ServiceBuilder};

use super::Retry;

/// Where the kubelet puts the files of a service account.
const DIRECTORY: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// How old a token may be that is sent. The kubelet replaces it long before it ends.
const TOKEN_FOR: Duration = Duration::from_secs(30);

/// Why a pod has no client.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not in a pod.
    #[error("{name} is not set")]
    Variable {
        /// What the kubelet sets.
        name: &'static str,
        /// What the system said.
        source: VarError,
    },
    /// The variables do not make a URL.
    #[error("{host:?} and {port:?} are not the address of an API server")]
    Address {
        /// `KUBERNETES_SERVICE_HOST`.
        host: String,
        /// `KUBERNETES_SERVICE_PORT`.
        port: String,
    },
    /// No service account is mounted, or not for us.
    #[error("failed to read {path:?}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Connects as the pod's service account.
pub(super) fn connect(retry: Retry) -> Result<Client, Error> {
    let variable = |name| env::var(name).map_err(|source| Error::Variable { name, source });
    let (host, port) = (variable("KUBERNETES_SERVICE_HOST")?, variable("KUBERNETES_SERVICE_PORT")?);
    let url = url(&host, &port).ok_or(Error::Address { host, port })?;
    build(url, Path::new(DIRECTORY), retry)
}

fn url(host: &str, port: &str) -> Option<Uri> {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let authority = format!("{host}:{}", port.parse::<u16>().ok()?);
    Uri::builder().scheme("https").authority(authority).path_and_query("/").build().ok()
}

fn build(url: Uri, directory: &Path, retry: Retry) -> Result<Client, Error> {
    let namespace = directory.join("namespace");
    let namespace =
        fs::read_to_string(&namespace).map_err(|source| Error::Read { path: namespace, source })?;
    let token = Arc::new(Token::read(directory.join("token"))?);
    let connector = Connector::read(directory.join("ca.crt"))?;
    let service = ServiceBuilder::new()
        .layer(Config::new(url).base_uri_layer())
        .layer(RetryLayer::new(retry))
        .map_request(move |mut request: hyper::Request<Body>| {
            request.headers_mut().insert(AUTHORIZATION, token.header());
            request
        })
        .map_err(BoxError::from)
        .service(super::transport(connector));
    Ok(ClientBuilder::new(service, namespace).build())
}

/// The token in a file.
struct Token {
    path: PathBuf,
    /// The header, and when it was read.
    last: Mutex<(HeaderValue, Instant)>,
}

impl Token {
    fn read(path: PathBuf) -> Result<Self, Error> {
        match bearer(&path) {
            Ok(header) => Ok(Self { path, last: Mutex::new((header, Instant::now())) }),
            Err(source) => Err(Error::Read { path, source }),
        }
    }

    fn header(&self) -> HeaderValue {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.1.elapsed() >= TOKEN_FOR {
            match bearer(&self.path) {
                Ok(header) => last.0 = header,
                Err(error) => tracing::warn!(path = ?self.path, %error, "kept an older token"),
            }
            last.1 = Instant::now();
        }
        last.0.clone()
    }
}

fn bearer(path: &Path) -> io::Result<HeaderValue> {
    let token = fs::read_to_string(path)?;
    let mut header = HeaderValue::try_from(format!("Bearer {}", token.trim_end()))
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not the text of a token"))?;
    header.set_sensitive(true);
    Ok(header)
}

/// Connects to a server whose certificate is of the CA in a file. A connection lasts for hours, so
/// the file is read for each.
#[derive(Clone)]
struct Connector {
    path: PathBuf,
    /// The file's bytes, and what they were made into.
    last: Arc<Mutex<(Vec<u8>, Arc<ClientConfig>)>>,
}

impl Connector {
    fn read(path: PathBuf) -> Result<Self, Error> {
        let read = fs::read(&path).and_then(|bytes| Ok((trust(&bytes)?, bytes)));
        match read {
            Ok((trust, bytes)) => Ok(Self { path, last: Arc::new(Mutex::new((bytes, trust))) }),
            Err(source) => Err(Error::Read { path, source }),
        }
    }

    fn trust(&self) -> Arc<ClientConfig> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let read = fs::read(&self.path).and_then(|bytes| {
            if bytes != last.0 {
                *last = (bytes.clone(), trust(&bytes)?);
            }
            Ok(())
        });
        if let Err(error) = read {
            tracing::warn!(path = ?self.path, %error, "kept an older CA");
        }
        Arc::clone(&last.1)
    }
}

fn trust(pem: &[u8]) -> io::Result<Arc<ClientConfig>> {
    let invalid = |message: String| io::Error::new(io::ErrorKind::InvalidData, message);
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| invalid(error.to_string()))?;
        roots.add(certificate).map_err(|error| invalid(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(invalid("there is no certificate in it".to_owned()));
    }
    let config = ClientConfig::builder_with_provider(crate::crypto::provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| invalid(error.to_string()))?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        HttpsConnector::<HttpConnector>::from((super::connector(), self.trust())).call(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_the_kubelet_make_a_url() {
        let made = |host, port| url(host, port).map(|url| url.to_string());
        assert_eq!(made("10.0.0.1", "443").as_deref(), Some("https://10.0.0.1:443/"));
        assert_eq!(made("fd00::1", "6443").as_deref(), Some("https://[fd00::1]:6443/"));
        assert_eq!(made("kubernetes.default.svc", "https"), None);
        assert_eq!(made("not a host", "443"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_token_is_sent_soon_and_a_lost_one_is_not_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        assert!(Token::read(path.clone()).is_err());
        fs::write(&path, "one\n").unwrap();
        let token = Token::read(path.clone()).unwrap();
        fs::write(&path, "two").unwrap();
        assert_eq!(token.header(), "Bearer one");
        tokio::time::advance(TOKEN_FOR).await;
        assert_eq!(token.header(), "Bearer two");
        fs::remove_file(&path).unwrap();
        tokio::time::advance(TOKEN_FOR).await;
        assert_eq!(token.header(), "Bearer two");
    }

    #[test]
    fn a_new_ca_counts_for_the_next_connection_and_a_broken_one_does_not() {
        let pem = || {
            let key = rcgen::KeyPair::generate().unwrap();
            rcgen::CertificateParams::default().self_signed(&key).unwrap().pem()
        };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ca.crt");
        for wrong in ["", "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"] {
            fs::write(&path, wrong).unwrap();
            assert!(Connector::read(path.clone()).is_err(), "{wrong}");
        }
        fs::write(&path, pem()).unwrap();
        let connector = Connector::read(path.clone()).unwrap();
        let first = connector.trust();
        assert!(Arc::ptr_eq(&first, &connector.trust()));
        fs::write(&path, pem()).unwrap();
        let second = connector.trust();
        assert!(!Arc::ptr_eq(&first, &second));
        fs::write(&path, "").unwrap();
        assert!(Arc::ptr_eq(&second, &connector.trust()));
    }
}
