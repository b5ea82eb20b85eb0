//! Whom we trust on a TLS connection: a given authority, else the system's, else the loopback
//! interface itself.

mod distrust;

use std::path::Path;
use std::sync::Arc;

use stoker_http::{ClientConfig, trust};
use stoker_sync::given as file;

pub(crate) use distrust::why;

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
        Some(path) => given(path),
        None if address.is_loopback() => Ok(trust::any()),
        None => Ok(trust::system()),
    }
}

fn given(path: &Path) -> Result<Arc<ClientConfig>, Error> {
    let pem = file::read(path, LIMIT)
        .map_err(|source| Error::ReadAuthorities { path: path.to_owned(), source })?;
    trust::given(&pem).map_err(|_| Error::UnusableAuthorities { path: path.to_owned() })
}
