//! A TLS handshake with the webhook, as the API server makes one.

use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use stoker_runtime::tls;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::Finding;

const PORT: u16 = 443;
const WITHIN: Duration = Duration::from_secs(5);

/// Connects to the Service and accepts only certificates that this bundle trusts.
pub(super) async fn check(service: &str, bundle: &[u8]) -> Finding {
    check_at(service, PORT, service, bundle).await
}

/// Connects to an address, and expects the certificate of a name.
pub(crate) async fn check_at(host: &str, port: u16, name: &str, bundle: &[u8]) -> Finding {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(bundle) {
        let certificate = certificate.map_err(|error| format!("caBundle is not PEM: {error}"))?;
        roots.add(certificate).map_err(|error| format!("caBundle has no CA: {error}"))?;
    }
    let config = ClientConfig::builder_with_provider(tls::provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(name.to_owned())
        .map_err(|_| format!("{name:?} is not the name of a server"))?;
    let connect = async {
        let stream = TcpStream::connect((host, port))
            .await
            .map_err(|error| format!("the webhook at {host}:{port} can't be reached: {error}"))?;
        TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await
            .map_err(|error| format!("caBundle does not trust the webhook's certificate: {error}"))
    };
    let connected = timeout(WITHIN, connect).await;
    connected.map_err(|_| format!("the webhook at {host}:{port} does not answer"))?.map(drop)
}
