//! What the Secret holds.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret as SecretObject;
use stoker_api::word::Secret;

const CA: &str = "ca.crt";
const CA_KEY: &str = "ca.key";
const CA_NAME: &str = "ca-name";
const CA_MADE: &str = "ca-made";
const PREVIOUS_CA: &str = "ca-previous.crt";
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const MADE: &str = "tls-made";
const NAMES: &str = "tls-names";

/// A CA and the pair that it signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Material {
    pub(super) authority: Authority,
    /// CAs that are being rotated out, or nothing.
    pub(super) previous: String,
    pub(super) leaf: Leaf,
}

/// A CA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Authority {
    pub(super) name: String,
    pub(super) certificate: String,
    pub(super) key: Secret,
    pub(super) made: Timestamp,
}

/// The pair of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) certificate: String,
    pub(super) key: Secret,
    pub(super) made: Timestamp,
    pub(super) names: Vec<String>,
}

impl Material {
    /// Reads the Secret; nothing where something is missing from it.
    pub(super) fn read(object: &SecretObject) -> Option<Self> {
        let data = object.data.as_ref()?;
        let text = |key: &str| {
            let bytes = data.get(key)?.0.clone();
            String::from_utf8(bytes).ok().filter(|text| !text.is_empty())
        };
        let secret = |key: &str| data.get(key).map(|bytes| Secret::new(bytes.0.clone()));
        let time = |key: &str| text(key)?.parse::<Timestamp>().ok();
        Some(Self {
            authority: Authority {
                name: text(CA_NAME)?,
                certificate: text(CA)?,
                key: secret(CA_KEY)?,
                made: time(CA_MADE)?,
            },
            previous: text(PREVIOUS_CA).unwrap_or_default(),
            leaf: Leaf {
                certificate: text(CERTIFICATE)?,
                key: secret(KEY)?,
                made: time(MADE)?,
                names: text(NAMES)?.split(',').map(str::to_owned).collect(),
            },
        })
    }

    /// Writes everything into the data of the Secret.
    pub(super) fn data(&self) -> BTreeMap<String, ByteString> {
        let entries: [(&str, Vec<u8>); 9] = [
            (CA, self.authority.certificate.clone().into()),
            (CA_KEY, self.authority.key.reveal().to_vec()),
            (CA_NAME, self.authority.name.clone().into()),
            (CA_MADE, self.authority.made.to_string().into()),
            (PREVIOUS_CA, self.previous.clone().into()),
            (CERTIFICATE, self.leaf.certificate.clone().into()),
            (KEY, self.leaf.key.reveal().to_vec()),
            (MADE, self.leaf.made.to_string().into()),
            (NAMES, self.leaf.names.join(",").into()),
        ];
        entries.into_iter().map(|(key, value)| (key.to_owned(), ByteString(value))).collect()
    }

    /// Returns every CA that is to be trusted.
    pub(super) fn bundle(&self) -> String {
        format!("{}{}", self.authority.certificate, self.previous)
    }
}
