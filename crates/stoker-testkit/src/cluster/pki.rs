//! The cluster's own certificate authority: server certificates, client certificates, kubeconfigs.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};

/// Why a certificate could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The certificate library refused.
    #[error("failed to make the certificate of {name:?}")]
    Make { name: String, source: rcgen::Error },
    /// The disk refused.
    #[error("failed to write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Who a client certificate speaks for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Identity<'a> {
    /// The user name.
    pub(crate) user: &'a str,
    /// The group, where it matters.
    pub(crate) group: Option<&'a str>,
}

/// A directory that holds the authority's key and everything signed with it.
#[derive(Debug)]
pub(crate) struct Pki {
    directory: PathBuf,
}

impl Pki {
    /// Makes a new authority, and the key pair that signs service-account tokens.
    pub(crate) fn create(directory: &Path) -> Result<Self, Error> {
        let pki = Self::open(directory);
        fs::create_dir_all(directory)
            .map_err(|source| Error::Write { path: directory.to_owned(), source })?;
        let key = generate("the authority")?;
        let certificate = authority_params()
            .self_signed(&key)
            .map_err(|source| Error::Make { name: "the authority".to_owned(), source })?;
        pki.write("ca.key", &key.serialize_pem())?;
        pki.write("ca.crt", &certificate.pem())?;
        let accounts = generate("service accounts")?;
        pki.write("sa.key", &accounts.serialize_pem())?;
        pki.write("sa.pub", &accounts.public_key_pem())?;
        Ok(pki)
    }

    /// Uses the authority that is already in the directory.
    pub(crate) fn open(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// Where a file of this directory is.
    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.directory.join(file)
    }

    /// Signs `<file>.crt` and `<file>.key` for an identity that is also a server at these names.
    pub(crate) fn issue(
        &self,
        file: &str,
        identity: Identity<'_>,
        names: &[&str],
    ) -> Result<(), Error> {
        let failed = |source| Error::Make { name: identity.user.to_owned(), source };
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, identity.user);
        if let Some(group) = identity.group {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        for name in names {
            params.subject_alt_names.push(match name.parse::<IpAddr>() {
                Ok(address) => SanType::IpAddress(address),
                Err(_) => SanType::DnsName((*name).try_into().map_err(failed)?),
            });
        }
        let key = generate(identity.user)?;
        let certificate = params.signed_by(&key, &self.authority()?).map_err(failed)?;
        self.write(&format!("{file}.key"), &key.serialize_pem())?;
        self.write(&format!("{file}.crt"), &certificate.pem())
    }

    /// Issues a client certificate and writes a kubeconfig that uses it.
    pub(crate) fn kubeconfig(
        &self,
        file: &str,
        identity: Identity<'_>,
        server: &str,
    ) -> Result<PathBuf, Error> {
        self.issue(file, identity, &[])?;
        self.write_kubeconfig(file, server)
    }

    /// Writes a kubeconfig for a certificate that exists.
    pub(crate) fn write_kubeconfig(&self, file: &str, server: &str) -> Result<PathBuf, Error> {
        let at = |name: &str| self.path(name).display().to_string();
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: stoker\n\
             clusters: [{{name: stoker, cluster: {{server: {server:?}, certificate-authority: {:?}}}}}]\n\
             users: [{{name: user, user: {{client-certificate: {:?}, client-key: {:?}}}}}]\n\
             contexts: [{{name: stoker, context: {{cluster: stoker, user: user}}}}]\n",
            at("ca.crt"),
            at(&format!("{file}.crt")),
            at(&format!("{file}.key")),
        );
        self.write(&format!("{file}.kubeconfig"), &text)?;
        Ok(self.path(&format!("{file}.kubeconfig")))
    }

    /// Signing needs the authority's name and key, both of which we know: nothing is parsed.
    fn authority(&self) -> Result<Issuer<'static, KeyPair>, Error> {
        let path = self.path("ca.key");
        let pem = fs::read_to_string(&path).map_err(|source| Error::Write { path, source })?;
        let key = KeyPair::from_pem(&pem)
            .map_err(|source| Error::Make { name: "the authority".to_owned(), source })?;
        Ok(Issuer::new(authority_params(), key))
    }

    fn write(&self, file: &str, text: &str) -> Result<(), Error> {
        let path = self.path(file);
        fs::write(&path, text).map_err(|source| Error::Write { path, source })
    }
}

fn generate(name: &str) -> Result<KeyPair, Error> {
    KeyPair::generate().map_err(|source| Error::Make { name: name.to_owned(), source })
}

fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "stoker-test-authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}
