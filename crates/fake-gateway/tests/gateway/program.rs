//! The TLS port, and the stand-in as a program.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use crate::support::{PATIENCE, TOKEN, parse, request};
use fake_gateway::{Gateway, Options, Token};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

#[test]
fn the_tls_port_is_a_secure_channel_signed_by_its_own_authority() {
    let gateway = Gateway::start(Options::default().with_tls()).unwrap();
    gateway.set_tokens([Token::parse(TOKEN).unwrap().secure_channel_required()]);
    let mut roots = RootCertStore::empty();
    let pem = gateway.authority_pem().unwrap();
    roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let tcp = TcpStream::connect(("127.0.0.1", gateway.tls_port())).unwrap();
    tcp.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut tls = StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), tcp);
    let headers = format!("X-Ignition-API-Token: {TOKEN}\r\n");
    tls.write_all(request("GET", "/data/api/v1/designers", &headers, "").as_bytes()).unwrap();
    let mut text = String::new();
    tls.read_to_string(&mut text).unwrap();
    assert_eq!(parse(&text).status, 200);
}

/// Starts the program over a data directory.
fn start(arguments: &[&str]) -> (tempfile::TempDir, Child) {
    let data = tempfile::tempdir().unwrap();
    crate::support::plant(data.path());
    let mut program = Command::new(env!("CARGO_BIN_EXE_fake-gateway"));
    program.args(arguments).arg("--data").arg(data.path());
    let child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    (data, child)
}

#[test]
fn the_program_prints_its_address_and_ends_with_its_standard_input() {
    let (_data, mut child) = start(&["--token", TOKEN, "--end-with-stdin"]);
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let address = url.trim().strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let headers = format!("X-Ignition-API-Token: {TOKEN}\r\n");
    let call = request("GET", "/data/api/v1/projects/names", &headers, "");
    stream.write_all(call.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(parse(&text).items(), serde_json::json!(["plant"]));
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_program_prints_each_scan_when_asked_to() {
    let (_data, mut child) = start(&["--print-scans"]);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().skip(1).take(2);
    let scans: Vec<String> = lines.map(Result::unwrap).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(scans[0].starts_with("scanned projects: "), "{scans:?}");
    assert!(scans[1].starts_with("scanned config: "), "{scans:?}");
}
