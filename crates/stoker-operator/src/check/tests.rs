//! What each check says.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use rcgen::{CertificateParams, KeyPair};
use serde_json::json;
use stoker_api::crd;
use stoker_runtime::tls;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

#[test]
fn a_lease_counts_while_its_holder_renews_it() {
    let held = |renewed: i64| LeaseSpec {
        holder_identity: Some("a".to_owned()),
        lease_duration_seconds: Some(15),
        renew_time: Some(MicroTime(at(renewed))),
        ..LeaseSpec::default()
    };
    let judge = |lease: &LeaseSpec| judge_lease("lease", lease, at(1000));
    assert_eq!(judge(&held(990)), Ok(()));
    assert!(judge(&held(900)).unwrap_err().contains("does not renew"));
    assert!(judge(&LeaseSpec::default()).unwrap_err().contains("no operator holds"));
}

#[test]
fn an_older_definition_is_refused_with_the_field_that_it_lacks() {
    let ours = crd::all().into_iter().next().unwrap();
    let mut found = ours.clone();
    assert!(definition::judge(&ours, &found).unwrap_err().contains("does not serve"));
    let condition = json!({"type": "Established", "status": "True", "reason": "a", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    found.status = Some(serde_json::from_value(json!({"conditions": [condition]})).unwrap());
    assert_eq!(definition::judge(&ours, &found), Ok(()));
    let schema = found.spec.versions[0].schema.as_mut().unwrap();
    let fields = schema.open_api_v3_schema.as_mut().unwrap().properties.as_mut().unwrap();
    let spec = fields.get_mut("spec").unwrap().properties.as_mut().unwrap();
    spec.remove("paused").unwrap();
    assert!(definition::judge(&ours, &found).unwrap_err().contains("\"spec.paused\""));
}

#[tokio::test]
async fn a_bundle_counts_when_it_trusts_the_certificate_that_is_served() {
    let key = KeyPair::generate().unwrap();
    let name = "webhook.stoker.svc";
    let parameters = CertificateParams::new([name.to_owned()]).unwrap();
    let served = parameters.self_signed(&key).unwrap();
    let other =
        CertificateParams::new([name.to_owned()]).unwrap().self_signed(&key_pair()).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(tls::provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![served.der().clone()],
            rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(std::sync::Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let _refused = acceptor.accept(stream).await;
        }
    });
    let check = |bundle: String| async move {
        handshake::check_at("127.0.0.1", port, name, bundle.as_bytes()).await
    };
    assert_eq!(check(served.pem()).await, Ok(()));
    assert!(check(other.pem()).await.unwrap_err().contains("does not trust"));
    assert!(check("-".to_owned()).await.unwrap_err().contains("does not trust"));
}

fn key_pair() -> KeyPair {
    KeyPair::generate().unwrap()
}
