//! Which certificates of servers are trusted beyond what rustls trusts by itself.
//!
//! Pinned: a server that a given authority has signed, and one that shows a given certificate itself.
//! A user who gives a self-signed certificate means that one. Most tools mark such a certificate as an
//! authority's (CA:TRUE), and rustls takes none of those for a server's, given or not. Its time, its
//! host name and the signature of the handshake are checked all the same.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{VerifierBuilderError, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Whatever it trusts, the signature of the handshake is verified.
#[derive(Debug)]
pub(super) struct Verifier {
    algorithms: WebPkiSupportedAlgorithms,
    trusted: Trusted,
}

#[derive(Debug)]
enum Trusted {
    /// For connections that do not leave the machine.
    Any,
    Pinned {
        authorities: Arc<WebPkiServerVerifier>,
        certificates: Vec<CertificateDer<'static>>,
    },
}

impl Verifier {
    pub(super) fn any(provider: &CryptoProvider) -> Self {
        let algorithms = provider.signature_verification_algorithms;
        Self { algorithms, trusted: Trusted::Any }
    }

    /// Trusts these certificates, which are also the roots, and whatever they have signed.
    pub(super) fn pinned(
        roots: RootCertStore,
        certificates: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, VerifierBuilderError> {
        let algorithms = provider.signature_verification_algorithms;
        let authorities = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let authorities = authorities.build()?;
        Ok(Self { algorithms, trusted: Trusted::Pinned { authorities, certificates } })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Trusted::Pinned { authorities, certificates } = &self.trusted else {
            return Ok(ServerCertVerified::assertion());
        };
        let signed = authorities.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match signed {
            // That it is an authority's has no word of its own. Its time was looked at before.
            Err(Error::InvalidCertificate(CertificateError::Other(_)))
                if certificates.contains(end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            signed => signed,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};

    use super::*;

    fn self_signed() -> CertificateDer<'static> {
        let mut params = CertificateParams::new(vec!["gateway".to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_after = date_time_ymd(2000, 1, 1);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    fn pinned(certificate: &CertificateDer<'static>) -> Verifier {
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        Verifier::pinned(roots, vec![certificate.clone()], provider).unwrap()
    }

    #[test]
    fn an_authority_s_certificate_is_a_server_s_if_given_in_its_time_and_by_its_name() {
        let (own, other) = (self_signed(), self_signed());
        let in_time = UnixTime::since_unix_epoch(Duration::from_hours(250_000));
        let too_late = UnixTime::since_unix_epoch(Duration::from_hours(280_000));
        let is_trusted = |shown: &CertificateDer<'_>, name: &'static str, now| {
            let name = ServerName::try_from(name).unwrap();
            pinned(&own).verify_server_cert(shown, &[], &name, &[], now).is_ok()
        };
        assert!(is_trusted(&own, "gateway", in_time));
        assert!(!is_trusted(&own, "elsewhere", in_time));
        assert!(!is_trusted(&own, "gateway", too_late));
        assert!(!is_trusted(&other, "gateway", in_time));
    }
}
