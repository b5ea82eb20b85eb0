//! The body of a delivery: verified and scanned as it arrives, never held as a whole.

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use stoker_core::payload::{Fields, Scanner};

use super::authentication::Verifier;

/// GitHub's own limit for a delivery.
pub(super) const LARGEST: u64 = 25 * 1024 * 1024;

/// What was read.
pub(super) struct Read {
    pub(super) verifier: Verifier,
    /// The fields, or nothing where the body is not JSON.
    pub(super) fields: Option<Fields>,
}

/// Why a body was not read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    TooLarge,
    EndedEarly,
}

/// Says whether a body is too large before it is read.
pub(super) fn is_too_large(body: &Incoming) -> bool {
    body.size_hint().lower() > LARGEST
}

/// Reads a body.
pub(super) async fn read(mut body: Incoming, mut verifier: Verifier) -> Result<Read, Fault> {
    let mut scanner = Some(Scanner::default());
    let mut length = 0_u64;
    while let Some(frame) = body.frame().await {
        let Ok(bytes) = frame.map_err(|_| Fault::EndedEarly)?.into_data() else { continue };
        length += bytes.len() as u64;
        if length > LARGEST {
            return Err(Fault::TooLarge);
        }
        verifier.update(&bytes);
        // What is not JSON is read to its end all the same: a stranger is to hear 401.
        if scanner.as_mut().is_some_and(|scanner| scanner.feed(&bytes).is_err()) {
            scanner = None;
        }
    }
    let fields = scanner.and_then(|scanner| scanner.finish().ok());
    Ok(Read { verifier, fields })
}
