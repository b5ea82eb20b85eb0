//! Why a certificate is not trusted, in words.

use stoker_http::CertificateError;

/// Returns the end of the sentence "the gateway's certificate is not trusted".
pub(crate) fn why(error: &CertificateError) -> &'static str {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its time has not come yet, if the clock here is right"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is for another host name"
        }
        CertificateError::UnknownIssuer => "nobody who is trusted here has signed it",
        CertificateError::BadSignature => "its signature is wrong",
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "it is not for servers"
        }
        // rustls has no word of its own for the most frequent of the others.
        _ => {
            "it is an authority's (CA:TRUE), which counts only if exactly that one is given, or it is damaged"
        }
    }
}
