//! Claims about certificates and the TLS server.

use std::net::{Ipv4Addr, SocketAddr};

use hyper::body::Incoming;
use hyper::{Request, StatusCode};
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::*;
use crate::Shutdown;
use crate::admin::Checks;
use crate::listener::{BindAddress, bind};
use crate::server::{Handler, Limits, Reply, Server, text};
use crate::shutdown::Trigger;

struct Pair {
    chain: String,
    key: String,
    der: CertificateDer<'static>,
}

struct Hello;

impl Handler for Hello {
    async fn respond(&self, _: Request<Incoming>, _: SocketAddr) -> Reply {
        text(StatusCode::OK, "hello")
    }
}

fn pair() -> Pair {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    Pair { chain: certificate.pem(), key: key.serialize_pem(), der: certificate.der().clone() }
}

fn serve(certificate: &Certificate) -> (u16, Trigger) {
    let listener = bind(BindAddress::Any(0)).unwrap().unwrap();
    let port = listener.local_addr().unwrap().port();
    let (trigger, shutdown) = Shutdown::manual();
    let server = Server::new(listener, Limits::default(), Hello).with_tls(certificate);
    tokio::spawn(server.serve(shutdown));
    (port, trigger)
}

async fn get(port: u16, trusted: &CertificateDer<'static>) -> Result<String, std::io::Error> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8(answer).unwrap())
}

#[tokio::test]
async fn a_new_pair_is_used_from_the_next_handshake_on() {
    let (old, new) = (pair(), pair());
    let certificate = Certificate::default();
    certificate.swap(old.chain.as_bytes(), old.key.as_bytes()).unwrap();
    let (port, _trigger) = serve(&certificate);
    assert!(get(port, &old.der).await.unwrap().ends_with("hello"));
    certificate.swap(new.chain.as_bytes(), new.key.as_bytes()).unwrap();
    assert!(get(port, &new.der).await.unwrap().ends_with("hello"));
    assert!(get(port, &old.der).await.is_err());
}

#[tokio::test]
async fn a_pair_that_does_not_fit_is_refused_and_the_old_one_stays() {
    let (old, new) = (pair(), pair());
    let certificate = Certificate::default();
    certificate.swap(old.chain.as_bytes(), old.key.as_bytes()).unwrap();
    let swap = |chain: &str, key: &str| certificate.swap(chain.as_bytes(), key.as_bytes());
    assert!(matches!(swap(&new.chain, &old.key), Err(Error::Pair(_))));
    assert!(matches!(swap("nothing", &old.key), Err(Error::Certificate)));
    assert!(matches!(swap(&new.chain, "nothing"), Err(Error::Key)));
    let (port, _trigger) = serve(&certificate);
    assert!(get(port, &old.der).await.unwrap().ends_with("hello"));
}

#[tokio::test]
async fn without_a_pair_handshakes_fail_and_the_server_goes_on() {
    let late = pair();
    let certificate = Certificate::default();
    assert!(!certificate.is_loaded());
    let (port, _trigger) = serve(&certificate);
    assert!(get(port, &late.der).await.is_err());
    certificate.swap(late.chain.as_bytes(), late.key.as_bytes()).unwrap();
    assert!(get(port, &late.der).await.unwrap().ends_with("hello"));
}

#[test]
fn files_are_read_again_when_they_change_and_half_a_swap_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (certificate, checks) = (Certificate::default(), Checks::default());
    let check = checks.readiness("certificate");
    let mut follower = files::Follower::default();
    let mut step = || {
        follower.step(directory.path(), &certificate, &check);
        certificate.0.current().map(|pair| pair.cert[0].clone())
    };
    let (old, new) = (pair(), pair());
    let write = |name: &str, content: &str| {
        std::fs::write(directory.path().join(name), content).unwrap();
    };
    assert_eq!(step(), None);
    write(CERTIFICATE_FILE, &old.chain);
    assert_eq!(step(), None);
    write(KEY_FILE, &old.key);
    assert_eq!(step(), Some(old.der.clone()));
    write(CERTIFICATE_FILE, &new.chain);
    assert_eq!(step(), Some(old.der));
    write(KEY_FILE, &new.key);
    assert_eq!(step(), Some(new.der));
}

/// A CA and pairs that it signs.
struct Authority {
    issuer: rcgen::Issuer<'static, KeyPair>,
    der: CertificateDer<'static>,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let der = params.self_signed(&key).unwrap().der().clone();
        Self { issuer: rcgen::Issuer::new(params, key), der }
    }

    fn sign(&self) -> Pair {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let leaf = params.signed_by(&key, &self.issuer).unwrap();
        Pair { chain: leaf.pem(), key: key.serialize_pem(), der: leaf.der().clone() }
    }
}

// D7
#[tokio::test(flavor = "multi_thread")]
async fn twenty_rotations_under_load_fail_no_handshake() {
    use std::sync::atomic::{AtomicU32, Ordering};

    let authority = Authority::new();
    let certificate = Certificate::default();
    let swap = || {
        let pair = authority.sign();
        certificate.swap(pair.chain.as_bytes(), pair.key.as_bytes()).unwrap();
    };
    swap();
    let (port, _trigger) = serve(&certificate);
    let answered = Arc::new(AtomicU32::new(0));
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let (answered, trusted) = (Arc::clone(&answered), authority.der.clone());
            tokio::spawn(async move {
                while answered.load(Ordering::Relaxed) < 600 {
                    get(port, &trusted).await.expect("no handshake fails");
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for rotation in 1..=20 {
        while answered.load(Ordering::Relaxed) < rotation * 28 {
            tokio::task::yield_now().await;
        }
        swap();
    }
    for client in clients {
        client.await.unwrap();
    }
}
