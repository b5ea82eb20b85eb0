//! Claims about signatures and tokens.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

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

/// How often each case is timed, and how many calls are timed together.
fn turns() -> (usize, usize) {
    if std::env::var_os("STOKER_LONG").is_some() { (400, 100) } else { (40, 50) }
}

/// Returns how much longer the slowest case takes than the quickest. Cases take turns, and the best
/// turn of each counts: what else runs on a machine only makes turns longer.
fn spread(cases: &[&dyn Fn()]) -> f64 {
    let (turns, calls) = turns();
    let mut best = vec![Duration::MAX; cases.len()];
    for _ in 0..turns {
        for (case, best) in cases.iter().zip(&mut best) {
            let begun = Instant::now();
            for _ in 0..calls {
                case();
            }
            *best = begun.elapsed().min(*best);
        }
    }
    let (least, most) = (best.iter().min().unwrap(), best.iter().max().unwrap());
    most.as_secs_f64() / least.as_secs_f64()
}

/// One of three keys that is not tried saves a third of the time.
const SAME_CLASS: f64 = 1.25;

// E1, E9: 10^5 calls in the long suite.
#[test]
fn a_refusal_takes_the_same_time_whatever_exists() {
    let (long, other) = ("k".repeat(40), "o".repeat(40));
    let wide = || keys(None, Some(&other));
    // No such GatewaySync; one without a secret; one with a secret; one whose secret is rotated.
    let unknown = wide();
    let own = keys(Some(&long), Some(&other));
    let rotated = Keys { previous: Some(Secret::new(&*other)), ..keys(Some(&long), Some(&other)) };
    let nothing = Keys::default();
    let wrong = decode(signature("wrong").as_bytes()).unwrap();
    // Only the last byte differs from the right one.
    let mut close = decode(signature(&long).as_bytes()).unwrap();
    close[LENGTH - 1] ^= 1;
    let signed = |keys: &Keys, given: &[u8; LENGTH]| {
        let mut verifier = Verifier::new(black_box(keys));
        verifier.update(black_box(BODY));
        assert_eq!(verifier.verify(black_box(given)), Verdict::Refused);
    };
    let token = Secret::new("t".repeat(40));
    let told = |keys: &Keys| assert_eq!(verify_token(black_box(keys), &token), Verdict::Refused);
    let by_signature: [&dyn Fn(); 5] = [
        &|| signed(&unknown, &wrong),
        &|| signed(&nothing, &wrong),
        &|| signed(&own, &wrong),
        &|| signed(&own, &close),
        &|| signed(&rotated, &wrong),
    ];
    let by_token: [&dyn Fn(); 4] =
        [&|| told(&unknown), &|| told(&nothing), &|| told(&own), &|| told(&rotated)];
    for cases in [&by_signature[..], &by_token[..]] {
        // A machine may be busy for a whole attempt, and not for all of them.
        let attempts = (0..10).map(|_| spread(cases));
        let spreads: Vec<f64> = attempts.take_while(|spread| *spread > SAME_CLASS).collect();
        assert!(spreads.len() < 10, "{spreads:?}");
    }
}
