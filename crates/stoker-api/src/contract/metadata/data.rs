//! Metadata to and from the strings of a ConfigMap.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use serde::de::DeserializeOwned;

use super::{AuthType, Metadata};
use crate::condition::{Requester, Trigger};
use crate::contract::PROTOCOL;
use crate::gatewaysync::Git;
use crate::limit;

/// Why a ConfigMap holds no metadata, or metadata does not fit into one.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "a field is named after what it holds")]
pub enum Error {
    /// A key that must be there is not.
    #[error("metadata has no key {0:?}")]
    Missing(&'static str),
    /// The writer speaks another version of the contract.
    #[error(
        "metadata speaks protocol {0:?}, this program speaks {PROTOCOL:?}: upgrade the older one"
    )]
    Protocol(String),
    /// A value can't be read.
    #[error("metadata key {key:?} can't be read: {fault}")]
    Malformed { key: &'static str, fault: String },
    /// A JSON value can't be read.
    #[error("metadata key {key:?} holds no valid JSON")]
    Json { key: &'static str, source: serde_json::Error },
    /// The profiles are too large to publish.
    #[error("metadata has {0} bytes, more than the {limit} that fit: make the profiles smaller", limit = limit::METADATA_BYTES)]
    TooLarge(usize),
}

impl Metadata {
    /// Builds the `data` of the ConfigMap.
    pub fn to_data(&self) -> Result<BTreeMap<String, String>, Error> {
        let mut data = BTreeMap::new();
        let mut put = |key: &str, value: String| data.insert(key.to_owned(), value);
        put("protocol", PROTOCOL.to_owned());
        put("gitURL", self.git_url.to_string());
        put("ref", self.git_ref.to_string());
        put("authType", self.auth_type.to_string());
        put("gitTimeout", self.git_timeout.to_string());
        put("allowInsecureHTTP", self.allow_insecure_http.to_string());
        put("paused", self.is_paused.to_string());
        put("terminating", self.is_terminating.to_string());
        put("statusShards", self.status_shards.to_string());
        put("overrides", json("overrides", &self.overrides)?);
        put("profiles", json("profiles", &self.profiles)?);
        put("syncProfiles", json("syncProfiles", &self.sync_profiles)?);
        let optional = [
            ("commit", self.commit.as_ref().map(ToString::to_string)),
            ("gitUsername", self.git_username.clone()),
            ("gitProxy", self.git_proxy.as_ref().map(ToString::to_string)),
            ("gatewayPort", self.gateway_port.map(|port| port.to_string())),
            ("gatewayTLS", self.gateway_tls.map(|tls| tls.to_string())),
            ("requestedAt", self.requested_at.map(|at| at.to_string())),
            ("requestedBy", self.requested_by.map(|by| by.to_string())),
            ("pausedBy", self.paused_by.as_ref().map(ToString::to_string)),
            ("trigger", self.trigger.map(|trigger| trigger.to_string())),
            ("allowMassDelete", self.allow_mass_delete.as_ref().map(ToString::to_string)),
            ("startupDeadline", self.startup_deadline.map(|deadline| deadline.to_string())),
            ("knownHosts", self.known_hosts.clone()),
        ];
        for (key, value) in optional {
            value.map(|value| put(key, value));
        }
        let bytes: usize = data.iter().map(|(key, value)| key.len() + value.len()).sum();
        if bytes > limit::METADATA_BYTES { Err(Error::TooLarge(bytes)) } else { Ok(data) }
    }

    /// Parses the `data` of the ConfigMap. Unknown keys are ignored.
    pub fn from_data(data: &BTreeMap<String, String>) -> Result<Self, Error> {
        let data = Data(data);
        let protocol = data.required::<String>("protocol")?;
        if protocol != PROTOCOL {
            return Err(Error::Protocol(protocol));
        }
        Ok(Self {
            git_url: data.required("gitURL")?,
            git_ref: data.required("ref")?,
            commit: data.optional("commit")?,
            auth_type: data.auth_type()?,
            git_username: data.optional("gitUsername")?,
            git_proxy: data.optional("gitProxy")?,
            git_timeout: data.optional("gitTimeout")?.unwrap_or(Git::DEFAULT_TIMEOUT),
            allow_insecure_http: data.optional("allowInsecureHTTP")?.unwrap_or_default(),
            is_paused: data.optional("paused")?.unwrap_or_default(),
            is_terminating: data.optional("terminating")?.unwrap_or_default(),
            gateway_port: data.optional("gatewayPort")?,
            gateway_tls: data.optional("gatewayTLS")?,
            paused_by: data.optional("pausedBy")?,
            requested_at: data.optional("requestedAt")?,
            // A newer controller may know words that this program does not.
            requested_by: data.word("requestedBy", Requester::find),
            trigger: data.word("trigger", Trigger::find),
            allow_mass_delete: data.optional("allowMassDelete")?,
            startup_deadline: data.optional("startupDeadline")?,
            known_hosts: data.optional("knownHosts")?,
            status_shards: data.optional("statusShards")?.unwrap_or(1),
            overrides: data.json("overrides")?,
            profiles: data.json("profiles")?,
            sync_profiles: data.json("syncProfiles")?,
        })
    }
}

fn json<T: serde::Serialize>(key: &'static str, value: &T) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|source| Error::Json { key, source })
}

struct Data<'a>(&'a BTreeMap<String, String>);

impl Data<'_> {
    /// An empty value counts as none: people who edit a ConfigMap leave keys empty.
    fn optional<T: FromStr<Err: Display>>(&self, key: &'static str) -> Result<Option<T>, Error> {
        let value = self.0.get(key).filter(|value| !value.is_empty());
        let malformed = |fault: T::Err| Error::Malformed { key, fault: fault.to_string() };
        value.map(|value| value.parse().map_err(malformed)).transpose()
    }

    fn required<T: FromStr<Err: Display>>(&self, key: &'static str) -> Result<T, Error> {
        self.optional(key)?.ok_or(Error::Missing(key))
    }

    fn word<T>(&self, key: &str, find: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        self.0.get(key).and_then(|value| find(value))
    }

    fn json<T: DeserializeOwned + Default>(&self, key: &'static str) -> Result<T, Error> {
        let Some(value) = self.0.get(key).filter(|value| !value.is_empty()) else {
            return Ok(T::default());
        };
        serde_json::from_str(value).map_err(|source| Error::Json { key, source })
    }

    fn auth_type(&self) -> Result<AuthType, Error> {
        const KEY: &str = "authType";
        let text = self.required::<String>(KEY)?;
        let unknown = || Error::Malformed { key: KEY, fault: format!("{text:?} is not known") };
        AuthType::find(&text).ok_or_else(unknown)
    }
}
