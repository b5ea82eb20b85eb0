//! Claims about floods of HTTP/2 frames, which end the connection that sends them and no other.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::receiver::{key_file, renew};
use crate::world::{World, until};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// `GET https://x/`, as indices of HPACK's table.
const REQUEST: &[u8] = &[0x82, 0x87, 0x84, 0x41, 1, b'x'];
const FRAMES: u32 = 100_000;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

async fn connect(port: u16, certificate: &CertificateDer<'static>) -> Option<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.ok()?;
    let name = ServerName::IpAddress(Ipv4Addr::LOCALHOST.into());
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.ok()
}

/// Sends frames for as long as the server takes them, and says whether it closed the connection.
async fn is_closed(mut stream: TlsStream<TcpStream>, mut next: impl FnMut(u32) -> Vec<u8>) -> bool {
    stream.write_all(PREFACE).await.unwrap();
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).await.unwrap();
    let (mut reader, mut writer) = tokio::io::split(stream);
    let sending = tokio::spawn({
        let frames: Vec<u8> = (0..FRAMES).flat_map(&mut next).collect();
        // Refused in the middle of it: that is the claim.
        async move { writer.write_all(&frames).await.ok() }
    });
    let mut buffer = vec![0; 64 * 1024];
    let reading = async { while reader.read(&mut buffer).await.is_ok_and(|count| count > 0) {} };
    let closed = tokio::time::timeout(Duration::from_mins(1), reading).await.is_ok();
    sending.abort();
    closed
}

// E6
#[tokio::test(flavor = "multi_thread")]
async fn floods_of_resets_and_continuations_end_their_own_connection_only() {
    let directory = tempfile::tempdir().unwrap();
    let certificate = renew(directory.path());
    let file = key_file("wide");
    let world = World::with(&[
        format!("--receiver-hmac-file={}", file.path().display()),
        format!("--receiver-tls-dir={}", directory.path().display()),
    ])
    .await;
    let open =
        async || until("TLS is served", async || connect(world.receiver, &certificate).await).await;
    let bystander = open().await;
    assert_eq!(bystander.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let before = world.peak_memory();
    let reset = |number: u32| {
        let stream = number * 2 + 1;
        let mut both = frame(HEADERS, END_HEADERS | END_STREAM, stream, REQUEST);
        both.extend(frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes()));
        both
    };
    assert!(is_closed(open().await, reset).await, "resets");
    let continued = |number: u32| match number {
        0 => frame(HEADERS, END_STREAM, 1, REQUEST),
        _ => frame(CONTINUATION, 0, 1, &[0x40, 1, b'a', 1, b'b']),
    };
    assert!(is_closed(open().await, continued).await, "continuations");
    let grown = world.peak_memory() - before;
    assert!(grown < 16 * 1024, "{grown} KiB");
    assert!(world.is_ready().await);
    drop(bystander);
    open().await;
}
