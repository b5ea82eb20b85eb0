//! Whether a delivery is authentic: a signature over the raw body, or a token.
//!
//! Every delivery with a signature is verified against three keys, whatever exists: a missing key
//! is replaced by one that no sender knows. Comparisons take the same time for every input.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HeaderValue};
use sha2::Sha256;
use stoker_api::word::Secret;
use subtle::ConstantTimeEq as _;

use super::secret::Keys;

/// Headers with `sha256=` and hexadecimal digits, and headers with the digits alone.
const PREFIXED: [&str; 3] = ["x-hub-signature-256", "x-signature", "x-hub-signature"];
const BARE: [&str; 3] = ["x-gitea-signature", "x-forgejo-signature", "x-gogs-signature"];
const GITLAB_TOKEN: &str = "x-gitlab-token";
/// Bytes of a signature.
const LENGTH: usize = 32;

/// What a delivery claims.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// The body has this signature.
    Signature([u8; LENGTH]),
    /// The sender knows this token.
    Token(Secret),
    /// Nothing, or something that is malformed.
    Nothing,
}

/// Who a delivery is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A sender that knows the secret of the GatewaySync.
    Own,
    /// A sender that knows the operator's secret.
    Operator,
    /// A stranger.
    Refused,
}

/// Computes the signatures of a body as it arrives.
pub(super) struct Verifier {
    own: Hmac<Sha256>,
    previous: Hmac<Sha256>,
    operator: Hmac<Sha256>,
    known: Known,
}

#[derive(Clone, Copy)]
struct Known {
    own: bool,
    previous: bool,
    operator: bool,
}

impl Claim {
    /// Reads the headers of a delivery.
    pub(super) fn read(headers: &HeaderMap) -> Self {
        for name in PREFIXED {
            let digits = single(headers, name).and_then(|it| it.strip_prefix(b"sha256="));
            if let Some(signature) = digits.and_then(decode) {
                return Self::Signature(signature);
            }
            // Senders add the old SHA-1 header beside the new one; alone it counts for nothing.
            if headers.contains_key(name) && name != "x-hub-signature" {
                return Self::Nothing;
            }
        }
        for name in BARE {
            if headers.contains_key(name) {
                let signature = single(headers, name).and_then(decode);
                return signature.map_or(Self::Nothing, Self::Signature);
            }
        }
        token(headers).map_or(Self::Nothing, Self::Token)
    }
}

fn token(headers: &HeaderMap) -> Option<Secret> {
    if let Some(token) = single(headers, GITLAB_TOKEN) {
        return Some(Secret::new(token));
    }
    let value = single(headers, AUTHORIZATION.as_str())?;
    if let Some(token) = strip(value, b"bearer ") {
        return Some(Secret::new(token));
    }
    let decoded = STANDARD.decode(strip(value, b"basic ")?).ok()?;
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    Some(Secret::new(&decoded[colon + 1..]))
}

fn strip<'a>(value: &'a [u8], scheme: &[u8]) -> Option<&'a [u8]> {
    let (begin, rest) = value.split_at_checked(scheme.len())?;
    begin.eq_ignore_ascii_case(scheme).then(|| rest.trim_ascii())
}

/// Returns a header that is there exactly once.
fn single<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a [u8]> {
    let mut values = headers.get_all(name).iter();
    let value: &HeaderValue = values.next()?;
    values.next().is_none().then(|| value.as_bytes())
}

/// Reads hexadecimal digits, in lower case as every sender writes them.
fn decode(digits: &[u8]) -> Option<[u8; LENGTH]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    if digits.len() != LENGTH * 2 {
        return None;
    }
    let mut signature = [0; LENGTH];
    for (byte, pair) in signature.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? * 16 + digit(pair[1])?;
    }
    Some(signature)
}

impl Verifier {
    /// Begins with the keys that may apply.
    pub(super) fn new(keys: &Keys) -> Self {
        Self {
            own: keyed(keys.own.as_ref()),
            previous: keyed(keys.previous.as_ref()),
            operator: keyed(keys.operator.as_ref()),
            known: Known {
                own: keys.own.is_some(),
                previous: keys.previous.is_some(),
                operator: keys.operator.is_some(),
            },
        }
    }

    /// Takes the next bytes of the body.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.own.update(bytes);
        self.previous.update(bytes);
        self.operator.update(bytes);
    }

    /// Says who signed the body.
    pub(super) fn verify(self, signature: &[u8; LENGTH]) -> Verdict {
        let own = self.own.verify_slice(signature).is_ok() & self.known.own;
        let previous = self.previous.verify_slice(signature).is_ok() & self.known.previous;
        let operator = self.operator.verify_slice(signature).is_ok() & self.known.operator;
        if own | previous {
            Verdict::Own
        } else if operator {
            Verdict::Operator
        } else {
            Verdict::Refused
        }
    }
}

/// Says who knows this token.
pub(super) fn verify_token(keys: &Keys, given: &Secret) -> Verdict {
    let matches = |key: Option<&Secret>| {
        // Digests have one length, so the comparison does not show that of the secret.
        let (key, is_known) = key.map_or((&b""[..], false), |key| (key.reveal(), true));
        digest(key).ct_eq(&digest(given.reveal())).unwrap_u8() == 1 && is_known
    };
    let own = matches(keys.own.as_ref());
    let previous = matches(keys.previous.as_ref());
    let operator = matches(keys.token.as_ref());
    if own | previous {
        Verdict::Own
    } else if operator {
        Verdict::Operator
    } else {
        Verdict::Refused
    }
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    use sha2::Digest as _;
    Sha256::digest(bytes).into()
}

fn keyed(key: Option<&Secret>) -> Hmac<Sha256> {
    let key = key.map_or(&b"no sender knows this key"[..], Secret::reveal);
    Hmac::new_from_slice(key).expect("HMAC takes keys of any length")
}

#[cfg(test)]
mod tests;
