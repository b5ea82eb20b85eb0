//! Which certificates are trusted: a given CA, else the system's, else any on the loopback
//! interface.

use std::path::Path;
use std::sync::Arc;

use stoker_http::{CertificateError, ClientConfig, trust};
use stoker_sync::input_file as file;

use crate::endpoint::Address;
use crate::error::Error;

/// Far more than all authorities of a system have.
const LIMIT: u64 = 4 * 1024 * 1024;

/// Returns how to connect to `address`.
///
/// A gateway's own certificate is self-signed and never for `127.0.0.1`. Where bytes do not leave
/// the machine it proves nothing that plain HTTP, which is the default there, would not: so it is
/// not asked to. What is given always counts (decision 0019).
pub(crate) fn config(
    address: &Address,
    authorities: Option<&Path>,
) -> Result<Arc<ClientConfig>, Error> {
    match authorities {
        Some(path) => pinned(path),
        None if address.is_loopback() => Ok(trust::any()),
        None => Ok(trust::system()),
    }
}

fn pinned(path: &Path) -> Result<Arc<ClientConfig>, Error> {
    let pem = file::read(path, LIMIT)
        .map_err(|source| Error::ReadAuthorities { path: path.to_owned(), source })?;
    trust::pinned(&pem).map_err(|_| Error::UnusableAuthorities { path: path.to_owned() })
}

/// Returns the end of the sentence "the gateway's certificate is not trusted".
pub(crate) fn certificate_fault(error: &CertificateError) -> &'static str {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its time has not come yet, if the clock here is right"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is for another host name"
        }
        CertificateError::UnknownIssuer => "its issuer is not trusted here",
        CertificateError::BadSignature => "its signature is wrong",
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "it is not for servers"
        }
        // rustls has no variant for the most frequent of the other faults.
        _ => {
            "it is an authority's (CA:TRUE), which counts only if exactly that one is given, or it is damaged"
        }
    }
}
