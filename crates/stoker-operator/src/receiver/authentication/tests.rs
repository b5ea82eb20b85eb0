//! Claims about signatures and tokens.

use std::fmt::Write as _;

use super::*;

const BODY: &[u8] = br#"{"ref":"main"}"#;

fn keys(own: Option<&str>, operator: Option<&str>) -> Keys {
    let secret = |text: &str| Secret::new(text);
    Keys { own: own.map(secret), operator: operator.map(secret), ..Keys::default() }
}

fn signature(key: &str) -> String {
    let mut hmac = keyed(Some(&Secret::new(key)));
    hmac.update(BODY);
    hmac.finalize().into_bytes().iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in pairs {
        map.append(*name, HeaderValue::from_str(value).unwrap());
    }
    map
}

fn verdict(keys: &Keys, pairs: &[(&'static str, &str)], body: &[u8]) -> Verdict {
    match Claim::read(&headers(pairs)) {
        Claim::Signature(signature) => {
            let mut verifier = Verifier::new(keys);
            for chunk in body.chunks(3) {
                verifier.update(chunk);
            }
            verifier.verify(&signature)
        }
        Claim::Token(token) => verify_token(keys, &token),
        Claim::Nothing => Verdict::Refused,
    }
}

#[test]
fn every_sender_is_recognised_by_its_header() {
    let keys = keys(Some("k1"), Some("k2"));
    let signed = signature("k1");
    let prefixed = format!("sha256={signed}");
    for (name, value) in [
        ("x-hub-signature-256", &prefixed),
        ("x-hub-signature", &prefixed),
        ("x-signature", &prefixed),
        ("x-gitea-signature", &signed),
        ("x-forgejo-signature", &signed),
        ("x-gitlab-token", &"k1".to_owned()),
        ("authorization", &"Bearer k1".to_owned()),
        ("authorization", &format!("Basic {}", STANDARD.encode("any:k1"))),
    ] {
        assert_eq!(verdict(&keys, &[(name, value)], BODY), Verdict::Own, "{name}: {value}");
    }
    let operator = format!("sha256={}", signature("k2"));
    assert_eq!(verdict(&keys, &[("x-hub-signature-256", &operator)], BODY), Verdict::Operator);
}

// E1
#[test]
fn wrong_malformed_and_doubled_signatures_are_refused() {
    let keys = keys(Some("k1"), Some("k2"));
    let good = format!("sha256={}", signature("k1"));
    let upper = format!("sha256={}", signature("k1").to_uppercase());
    let name = "x-hub-signature-256";
    for pairs in [
        vec![],
        vec![(name, "")],
        vec![(name, "sha256=")],
        vec![(name, &good[..good.len() - 1])],
        vec![(name, &*format!("{good}0"))],
        vec![(name, &*upper)],
        vec![(name, &*format!("sha256={}", signature("other")))],
        vec![(name, &*good), (name, &*good)],
        vec![("x-hub-signature", "sha1=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")],
        vec![("authorization", "Bearer k2")],
        vec![("authorization", "Bearer ")],
        vec![("authorization", "Basic !!!")],
        vec![("authorization", "k1")],
    ] {
        assert_eq!(verdict(&keys, &pairs, BODY), Verdict::Refused, "{pairs:?}");
    }
    let mut changed = BODY.to_vec();
    changed[3] ^= 1;
    assert_eq!(verdict(&keys, &[(name, &good)], &changed), Verdict::Refused);
}

// E2
#[test]
fn a_missing_secret_is_known_to_no_sender() {
    let empty = Keys::default();
    let stand_in = format!("sha256={}", signature("no sender knows this key"));
    let unset = format!("sha256={}", signature(""));
    for value in [stand_in, unset] {
        assert_eq!(verdict(&empty, &[("x-hub-signature-256", &value)], BODY), Verdict::Refused);
    }
    for token in ["", "no sender knows this key"] {
        let value = format!("Bearer {token}");
        assert_eq!(verdict(&empty, &[("authorization", &value)], BODY), Verdict::Refused);
    }
}

// F29
#[test]
fn the_operators_token_is_not_its_signing_key() {
    let keys =
        Keys { token: Some(Secret::new("t")), operator: Some(Secret::new("h")), ..Keys::default() };
    assert_eq!(verdict(&keys, &[("authorization", "Bearer t")], BODY), Verdict::Operator);
    assert_eq!(verdict(&keys, &[("authorization", "Bearer h")], BODY), Verdict::Refused);
    let signed = format!("sha256={}", signature("t"));
    assert_eq!(verdict(&keys, &[("x-hub-signature-256", &signed)], BODY), Verdict::Refused);
}
