//! The volumes that the agent brings into a pod.

use serde_json::{Value, json};
use stoker_api::contract::env::Env;
use stoker_api::contract::mount::Volume;
use stoker_api::gatewaysync::{Auth, AuthMethod, Gateway, ResolvedSecretRef};
use stoker_api::names::{self, SecretKey};

use super::Chosen;
use super::data::OWN_VOLUME;
use super::sidecar::Agent;

/// A Secret that is mounted into the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SecretMount {
    pub(super) volume: Volume,
    pub(super) name: String,
    /// The key that is needed; without it all of them.
    pub(super) key: Option<String>,
    /// The variable that names the file.
    pub(super) variable: Option<Env>,
}

/// A volume under the name that it has in this pod.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) name: String,
    pub(super) path: &'static str,
    pub(super) is_read_only: bool,
    /// The volume as it is added; none where the pod has it.
    pub(super) definition: Option<Value>,
    pub(super) is_empty_dir: bool,
}

/// Returns the Secrets that the agent of this GatewaySync reads. All of them are optional for the
/// kubelet: an absent Secret is the agent's to report, and keeps no gateway from starting.
pub(super) fn secrets(chosen: Chosen<'_>) -> Vec<SecretMount> {
    let mut secrets = Vec::new();
    let mut add = |volume, reference: ResolvedSecretRef, variable| {
        let ResolvedSecretRef { name, key } = reference;
        secrets.push(SecretMount { volume, name, key: Some(key), variable: Some(variable) });
    };
    if let Some(sync) = chosen.sync {
        let git = &sync.spec.git;
        match git.auth.as_ref().and_then(Auth::method) {
            Some(AuthMethod::SshKey { key, known_hosts }) => {
                add(Volume::GitCredentials, key, Env::GitSshKeyFile);
                if let Some(known_hosts) = known_hosts {
                    add(Volume::KnownHosts, known_hosts, Env::GitKnownHostsFile);
                }
            }
            Some(AuthMethod::Token { token, .. }) => {
                add(Volume::GitCredentials, token, Env::GitTokenFile);
            }
            Some(AuthMethod::GithubApp { .. }) => {
                let name = names::github_token_secret(chosen.name);
                let key = SecretKey::Token.as_str().to_owned();
                add(Volume::GitToken, ResolvedSecretRef { name, key }, Env::GitTokenFile);
            }
            None => {}
        }
        if let Some(reference) = &git.ca_secret_ref {
            add(Volume::GitCa, reference.resolve(SecretKey::Ca), Env::GitCaFile);
        }
        if let Some(key) = sync.spec.gateway.as_ref().and_then(Gateway::api_key) {
            add(Volume::ApiKey, key, Env::ApiKeyFile);
        }
    }
    let name = names::agent_secret(chosen.name);
    secrets.push(SecretMount { volume: Volume::Agent, name, key: None, variable: None });
    secrets
}

/// Gives every volume of the agent a name that is free in the pod.
pub(super) fn place(agent: &Agent<'_>, secrets: &[SecretMount]) -> Vec<Placed> {
    let mut placed = Placer { agent, placed: Vec::new() };
    placed.empty_dir(Volume::SyncRepo);
    placed.empty_dir(Volume::Tmp);
    placed.add(
        Volume::PodInfo,
        json!({ "downwardAPI": { "items": [
            { "path": "labels", "fieldRef": { "fieldPath": "metadata.labels" } },
            { "path": "annotations", "fieldRef": { "fieldPath": "metadata.annotations" } },
            { "path": "uid", "fieldRef": { "fieldPath": "metadata.uid" } },
        ] } }),
    );
    for secret in secrets {
        placed.secret(secret);
    }
    placed.api_token();
    if agent.data.gateway.is_none() {
        placed.own_data();
    }
    placed.placed
}

struct Placer<'a> {
    agent: &'a Agent<'a>,
    placed: Vec<Placed>,
}

impl Placer<'_> {
    fn empty_dir(&mut self, volume: Volume) {
        self.put(volume, json!({ "emptyDir": {} }), false, true);
    }

    fn add(&mut self, volume: Volume, source: Value) {
        self.put(volume, source, true, false);
    }

    fn secret(&mut self, secret: &SecretMount) {
        let mut source = json!({
            "secretName": secret.name,
            "optional": true,
            "defaultMode": self.agent.secret_mode(),
        });
        if let Some(key) = &secret.key {
            source["items"] = json!([{ "key": key, "path": key }]);
        }
        self.add(secret.volume, json!({ "secret": source }));
    }

    /// Mounts the pod's own token for the API server, or one for the agent alone.
    fn api_token(&mut self) {
        let path = Volume::ApiToken.path();
        let mut mounts = self.agent.pod.all_containers().flat_map(|it| &it.volume_mounts);
        let mounted = mounts.find(|mount| mount.path.trim_end_matches('/') == path);
        if let Some(mount) = mounted.filter(|mount| self.agent.pod.has_volume(&mount.name)) {
            self.placed.push(Placed {
                name: mount.name.to_string(),
                path,
                is_read_only: true,
                definition: None,
                is_empty_dir: false,
            });
            return;
        }
        self.add(
            Volume::ApiToken,
            json!({ "projected": { "sources": [
                { "serviceAccountToken": { "path": "token", "expirationSeconds": 3607 } },
                { "configMap": {
                    "name": "kube-root-ca.crt",
                    "items": [{ "key": "ca.crt", "path": "ca.crt" }],
                } },
                { "downwardAPI": { "items": [
                    { "path": "namespace", "fieldRef": { "fieldPath": "metadata.namespace" } },
                ] } },
            ] } }),
        );
    }

    /// A place for the files of a pod that has no gateway.
    fn own_data(&mut self) {
        self.placed.push(Placed {
            name: OWN_VOLUME.to_owned(),
            path: super::data::IGNITION_DATA,
            is_read_only: false,
            definition: (!self.agent.pod.has_volume(OWN_VOLUME))
                .then(|| json!({ "name": OWN_VOLUME, "emptyDir": {} })),
            is_empty_dir: true,
        });
    }

    fn put(&mut self, volume: Volume, mut source: Value, is_read_only: bool, is_empty_dir: bool) {
        let name = self.free_name(volume);
        source["name"] = json!(name);
        self.placed.push(Placed {
            name,
            path: volume.path(),
            is_read_only,
            definition: Some(source),
            is_empty_dir,
        });
    }

    fn free_name(&self, volume: Volume) -> String {
        let is_free = |name: &str| {
            !self.agent.pod.has_volume(name) && self.placed.iter().all(|it| it.name != name)
        };
        if is_free(volume.as_str()) {
            return volume.as_str().to_owned();
        }
        let fallback = volume.fallback();
        if is_free(&fallback) {
            return fallback;
        }
        // One more than the pod has volumes is enough to find a free one.
        let mut numbered = (2..=self.agent.pod.spec.volumes.len() + 2)
            .map(|number| format!("{fallback}-{number}"));
        numbered.find(|name| is_free(name)).unwrap_or(fallback)
    }
}
