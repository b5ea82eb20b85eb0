//! The sources of copies, each watched by its name while a policy names it.
//!
//! # Promises
//! - Only pull secrets are copied: Secrets of the two types that the kubelet pulls images with.
//! - Only certificates are copied from a source of certificates, never a private key.
//! - A source that is empty is never copied: the copies stay as they are.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, ApiResource, DynamicObject};
use kube::runtime::watcher::Config;
use kube::{Client, ResourceExt as _};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use stoker_api::podbootstrap::{CaBundle, ConfigMapKey, PodBootstrapSpec, PullSecret, TrustBundle};
use stoker_core::bootstrap::{BUNDLE_FILE, CA_CONFIG_MAP, CA_FILE, Copied, Origin, Source};

use super::Bootstrap;
use super::object::Content;
use crate::controller::watch::{Change, follow as follow_objects};

/// The types of Secrets that images are pulled with, and the key of each.
const PULL_TYPES: [(&str, &str); 2] = [
    ("kubernetes.io/dockerconfigjson", ".dockerconfigjson"),
    ("kubernetes.io/dockercfg", ".dockercfg"),
];
const TRUST_GROUP: &str = "certificates.k8s.io";
/// Versions of ClusterTrustBundle, the best first.
const TRUST_VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha1"];
/// How often a cluster without ClusterTrustBundles is asked again.
const DISCOVER: Duration = Duration::from_mins(1);
/// How soon a cluster that did not answer is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(5);
/// The characters of a hash.
const HASH: usize = 16;

/// What is copied at present.
#[derive(Default)]
pub(super) struct Sources(RwLock<State>);

#[derive(Default)]
struct State {
    pull_secret: Option<Known>,
    ca_bundle: Option<Known>,
}

struct Known {
    source: Source<Arc<Content>>,
    /// The namespace that has the object itself under the name of a copy.
    home: Option<String>,
}

impl Sources {
    /// Returns what is copied.
    pub(super) fn get(&self, copied: Copied) -> Source<Arc<Content>> {
        let state = self.0.read().unwrap_or_else(PoisonError::into_inner);
        state.of(copied).map_or(Source::Unknown, |known| known.source.clone())
    }

    /// Says whether the source itself is in this namespace, under the name of a copy.
    pub(super) fn is_in(&self, copied: Copied, namespace: &str) -> bool {
        let state = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let known = state.of(copied);
        known.is_some_and(|known| known.home.as_deref() == Some(namespace))
    }

    /// Forgets everything.
    pub(super) fn forget(&self) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = State::default();
    }
}

impl State {
    fn of(&self, copied: Copied) -> Option<&Known> {
        match copied {
            Copied::PullSecret => self.pull_secret.as_ref(),
            Copied::CaBundle => self.ca_bundle.as_ref(),
        }
    }
}

/// What a policy says about sources.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Named {
    pull_secret: Option<PullSecret>,
    ca_bundle: Option<CaBundle>,
}

impl Named {
    fn of(bootstrap: &Bootstrap) -> Self {
        let in_force = bootstrap.0.view.in_force();
        let spec = in_force.map_or_else(PodBootstrapSpec::default, |it| it.spec.clone());
        Self { pull_secret: spec.pull_secret, ca_bundle: spec.ca_bundle }
    }
}

/// Follows the sources that the policy names.
pub(super) async fn follow(bootstrap: Bootstrap) {
    let mut changes = bootstrap.0.view.changes();
    loop {
        let named = Named::of(&bootstrap);
        let other = async {
            // The sender lives as long as the view.
            while changes.changed().await.is_ok() && Named::of(&bootstrap) == named {}
        };
        tokio::select! {
            () = pull_secret(&bootstrap, named.pull_secret.as_ref()) => {}
            () = ca_bundle(&bootstrap, named.ca_bundle.as_ref()) => {}
            () = other => {}
        }
    }
}

/// Takes what a source is now, and has every namespace looked at where that is new.
fn set(bootstrap: &Bootstrap, copied: Copied, home: Option<&str>, source: Source<Arc<Content>>) {
    let is_new = {
        let sources = &bootstrap.0.sources.0;
        let mut state = sources.write().unwrap_or_else(PoisonError::into_inner);
        let known = match copied {
            Copied::PullSecret => &mut state.pull_secret,
            Copied::CaBundle => &mut state.ca_bundle,
        };
        let is_new = known.as_ref().is_none_or(|known| known.source != source);
        *known = Some(Known { source, home: home.map(ToOwned::to_owned) });
        is_new
    };
    if is_new {
        // The mark of pods follows from the certificates.
        if copied == Copied::CaBundle {
            bootstrap.0.census.recount(None);
        }
        bootstrap.wake_all();
    }
}

async fn pull_secret(bootstrap: &Bootstrap, named: Option<&PullSecret>) {
    let Some(PullSecret { name, source_namespace }) = named else {
        set(bootstrap, Copied::PullSecret, None, Source::Unwanted);
        return std::future::pending().await;
    };
    set(bootstrap, Copied::PullSecret, Some(source_namespace), Source::Unknown);
    let api: Api<Secret> = Api::namespaced(bootstrap.0.client.clone(), source_namespace);
    let config = Config::default().fields(&format!("metadata.name={name}"));
    let text = format!("{source_namespace}/{name}");
    follow_objects(api, config, "pull secret", |change| {
        let source = match change {
            Change::Applied(_, secret) => pull_content(&text, &secret),
            Change::Listed(keys) if !keys.is_empty() => return,
            Change::Deleted(_) | Change::Listed(_) => {
                Source::Missing(format!("the pull secret {text} does not exist: create it"))
            }
        };
        let source = share(source);
        set(bootstrap, Copied::PullSecret, Some(source_namespace), source);
    })
    .await;
}

fn share(source: Source<Content>) -> Source<Arc<Content>> {
    match source {
        Source::Unknown => Source::Unknown,
        Source::Unwanted => Source::Unwanted,
        Source::Missing(why) => Source::Missing(why),
        Source::Unusable(why) => Source::Unusable(why),
        Source::Present(content) => Source::Present(Arc::new(content)),
    }
}

/// Reads the pull secret.
fn pull_content(text: &str, secret: &Secret) -> Source<Content> {
    let kind = secret.type_.as_deref().unwrap_or("Opaque");
    let Some((_, key)) = PULL_TYPES.iter().find(|(known, _)| *known == kind) else {
        return Source::Unusable(format!(
            "the pull secret {text} has the type {kind}: only kubernetes.io/dockerconfigjson and kubernetes.io/dockercfg are copied"
        ));
    };
    let data = secret.data.iter().flatten().find(|(name, _)| name == key);
    let value = data.map(|(_, value)| value.0.clone()).unwrap_or_default();
    let parsed: Value = serde_json::from_slice(&value).unwrap_or_default();
    let entries = if kind == PULL_TYPES[0].0 { &parsed["auths"] } else { &parsed };
    if entries.as_object().is_none_or(serde_json::Map::is_empty) {
        return Source::Unusable(format!(
            "the pull secret {text} names no registry in {key}: its copies stay as they are"
        ));
    }
    // With its UID, which others can't read: a hash of a short password could be guessed.
    let uid = secret.metadata.uid.as_deref().unwrap_or_default();
    let hash = hash([kind.as_bytes(), uid.as_bytes(), &value]);
    Source::Present(Content {
        name: secret.name_any(),
        origin: Origin { source: text.to_owned(), hash },
        kind: Some(kind.to_owned()),
        data: BTreeMap::from([((*key).to_owned(), value)]),
    })
}

async fn ca_bundle(bootstrap: &Bootstrap, named: Option<&CaBundle>) {
    let Some(bundle) = named else {
        set(bootstrap, Copied::CaBundle, None, Source::Unwanted);
        return std::future::pending().await;
    };
    let roots =
        if bundle.include_public_roots.unwrap_or(true) { public_roots() } else { Vec::new() };
    match (&bundle.source.config_map, &bundle.source.cluster_trust_bundle) {
        (Some(map), _) => config_map(bootstrap, map, &roots).await,
        (None, Some(named)) => trust_bundle(bootstrap, named, &roots).await,
        (None, None) => {
            let why = "caBundle.source names neither a ConfigMap nor a ClusterTrustBundle: add one";
            set(bootstrap, Copied::CaBundle, None, Source::Missing(why.to_owned()));
            std::future::pending::<()>().await;
        }
    }
}

async fn config_map(bootstrap: &Bootstrap, named: &ConfigMapKey, roots: &[Vec<u8>]) {
    let ConfigMapKey { namespace, name, key } = named;
    let key = key.as_deref().unwrap_or(ConfigMapKey::DEFAULT_KEY);
    let home = (name == CA_CONFIG_MAP).then_some(namespace.as_str());
    set(bootstrap, Copied::CaBundle, home, Source::Unknown);
    let api: Api<ConfigMap> = Api::namespaced(bootstrap.0.client.clone(), namespace);
    let config = Config::default().fields(&format!("metadata.name={name}"));
    let text = format!("{namespace}/{name}");
    follow_objects(api, config, "certificates", |change| {
        let source = match change {
            Change::Applied(_, map) => {
                let pem = map.data.unwrap_or_default().remove(key).unwrap_or_default();
                ca_content(&format!("{text} key {key}"), &text, &pem, roots)
            }
            Change::Listed(keys) if !keys.is_empty() => return,
            Change::Deleted(_) | Change::Listed(_) => {
                Source::Missing(format!("the ConfigMap {text} does not exist: create it"))
            }
        };
        set(bootstrap, Copied::CaBundle, home, share(source));
    })
    .await;
}

async fn trust_bundle(bootstrap: &Bootstrap, named: &TrustBundle, roots: &[Vec<u8>]) {
    set(bootstrap, Copied::CaBundle, None, Source::Unknown);
    let resource = loop {
        match discover(&bootstrap.0.client).await {
            Ok(Some(resource)) => break resource,
            Ok(None) => {
                let why = "the cluster has no ClusterTrustBundles: enable them, or use a ConfigMap";
                set(bootstrap, Copied::CaBundle, None, Source::Missing(why.to_owned()));
                tokio::time::sleep(DISCOVER).await;
            }
            // What is not known is not missing: the copies stay.
            Err(error) => {
                tracing::warn!(%error, "failed to ask whether the cluster has ClusterTrustBundles");
                tokio::time::sleep(ASK_AGAIN).await;
            }
        }
    };
    let (field, text) = match (&named.name, &named.signer_name) {
        (Some(name), _) => (format!("metadata.name={name}"), format!("ClusterTrustBundle/{name}")),
        (None, signer) => {
            let signer = signer.as_deref().unwrap_or_default();
            (format!("spec.signerName={signer}"), format!("ClusterTrustBundles of {signer}"))
        }
    };
    let api: Api<DynamicObject> = Api::all_with(bootstrap.0.client.clone(), &resource);
    let config = Config::default().fields(&field);
    let mut bundles: BTreeMap<String, String> = BTreeMap::new();
    let mut is_listed = false;
    follow_objects(api, config, "ClusterTrustBundle", |change| {
        match change {
            Change::Applied(key, object) => {
                let pem = object.data["spec"]["trustBundle"].as_str().unwrap_or_default();
                bundles.insert(key.name, pem.to_owned());
            }
            Change::Deleted(key) => drop(bundles.remove(&key.name)),
            Change::Listed(keys) => {
                bundles.retain(|name, _| keys.iter().any(|key| key.name == *name));
                is_listed = true;
            }
        }
        // The parts of a signer count together.
        if !is_listed {
            return;
        }
        let source = if bundles.is_empty() {
            Source::Missing(format!("there is no {text}: create it"))
        } else {
            let pem = bundles.values().map(String::as_str).collect::<Vec<_>>().join("\n");
            ca_content(&text, &text.replace(' ', "-"), &pem, roots)
        };
        set(bootstrap, Copied::CaBundle, None, share(source));
    })
    .await;
}

/// Finds the version of ClusterTrustBundle that the cluster serves, if it has the kind.
async fn discover(client: &Client) -> kube::Result<Option<ApiResource>> {
    for version in TRUST_VERSIONS {
        let api_version = format!("{TRUST_GROUP}/{version}");
        let served = match client.list_api_group_resources(&api_version).await {
            Ok(served) => served,
            Err(kube::Error::Api(status)) if status.code == 404 => continue,
            Err(error) => return Err(error),
        };
        if served.resources.iter().any(|it| it.name == "clustertrustbundles") {
            return Ok(Some(ApiResource {
                group: TRUST_GROUP.to_owned(),
                version: version.to_owned(),
                api_version,
                kind: "ClusterTrustBundle".to_owned(),
                plural: "clustertrustbundles".to_owned(),
            }));
        }
    }
    Ok(None)
}

/// Makes the two files of the certificates.
fn ca_content(place: &str, source: &str, pem: &str, roots: &[Vec<u8>]) -> Source<Content> {
    let parsed: Result<Vec<CertificateDer<'_>>, _> =
        CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    let own: Vec<Vec<u8>> = match parsed {
        Ok(own) => own.into_iter().map(|certificate| certificate.to_vec()).collect(),
        Err(error) => {
            return Source::Unusable(format!(
                "the certificates in {place} can't be read: {error}; copies stay as they are"
            ));
        }
    };
    if own.is_empty() {
        return Source::Unusable(format!(
            "there is no certificate in {place}: add one in PEM; copies stay as they are"
        ));
    }
    let authority = encode(own.iter());
    let bundle = encode(own.iter().chain(roots.iter().filter(|root| !own.contains(root))));
    // The public roots are not part of it: with a new version of the operator they change, and
    // that must not make every pod of the cluster stale.
    let hash = hash([authority.as_bytes()]);
    let file = |name: &str, text: String| (name.to_owned(), text.into_bytes());
    Source::Present(Content {
        name: CA_CONFIG_MAP.to_owned(),
        origin: Origin { source: source.to_owned(), hash },
        kind: None,
        data: BTreeMap::from([file(CA_FILE, authority), file(BUNDLE_FILE, bundle)]),
    })
}

/// Returns the public roots of the operator's image.
fn public_roots() -> Vec<Vec<u8>> {
    let found = rustls_native_certs::load_native_certs();
    if let Some(error) = found.errors.first() {
        tracing::warn!(%error, "failed to read the public root certificates");
    }
    let mut roots: Vec<Vec<u8>> = found.certs.iter().map(|root| root.to_vec()).collect();
    roots.sort_unstable();
    roots.dedup();
    roots
}

fn encode<'a>(certificates: impl Iterator<Item = &'a Vec<u8>>) -> String {
    let mut text = String::new();
    for certificate in certificates {
        text += "-----BEGIN CERTIFICATE-----\n";
        let encoded = STANDARD.encode(certificate);
        for line in encoded.as_bytes().chunks(64) {
            text += &String::from_utf8_lossy(line);
            text.push('\n');
        }
        text += "-----END CERTIFICATE-----\n";
    }
    text
}

fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.len().to_be_bytes());
        hasher.update(part);
    }
    let digest = hasher.finalize();
    let mut hex = digest.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a string takes any text");
        hex
    });
    hex.truncate(HASH);
    hex
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;

    use super::*;

    fn secret(kind: &str, key: &str, value: &str) -> Secret {
        let mut secret = Secret { type_: Some(kind.to_owned()), ..Secret::default() };
        secret.metadata.name = Some("pull".to_owned());
        secret.metadata.uid = Some("uid".to_owned());
        secret.data = Some(BTreeMap::from([
            (key.to_owned(), ByteString(value.into())),
            ("other".to_owned(), ByteString("never copied".into())),
        ]));
        secret
    }

    // I4: what is empty or not a pull secret is never copied.
    #[test]
    fn only_a_pull_secret_that_names_a_registry_is_copied() {
        let json = ("kubernetes.io/dockerconfigjson", ".dockerconfigjson");
        let good = r#"{"auths":{"r.example":{"auth":"eA=="}}}"#;
        let content = pull_content("a/pull", &secret(json.0, json.1, good));
        let content = content.content().unwrap();
        assert_eq!(content.data.keys().collect::<Vec<_>>(), [".dockerconfigjson"]);
        assert!(!format!("{content:?}").contains("eA=="));
        for (kind, key, value) in [
            ("Opaque", ".dockerconfigjson", good),
            ("kubernetes.io/service-account-token", "token", "x"),
            (json.0, json.1, ""),
            (json.0, json.1, "{}"),
            (json.0, json.1, r#"{"auths":{}}"#),
            (json.0, "other", good),
        ] {
            let found = pull_content("a/pull", &secret(kind, key, value));
            assert!(matches!(found, Source::Unusable(_)), "{kind} {value}: {found:?}");
        }
    }

    #[test]
    fn only_certificates_are_copied_and_public_roots_do_not_change_the_hash() {
        let pair = rcgen::generate_simple_self_signed(["ca.example".to_owned()]).unwrap();
        let root = rcgen::generate_simple_self_signed(["root.example".to_owned()]).unwrap();
        let roots = [root.cert.der().to_vec()];
        let pem = format!("# a note\n{}{}", pair.signing_key.serialize_pem(), pair.cert.pem());
        let content = ca_content("a/b key c", "a/b", &pem, &roots);
        let content = content.content().unwrap();
        let text = |file: &str| String::from_utf8(content.data[file].clone()).unwrap();
        assert_eq!(text(CA_FILE), pair.cert.pem().replace("\r\n", "\n"));
        assert!(!text(BUNDLE_FILE).contains("PRIVATE"));
        assert_eq!(text(BUNDLE_FILE).matches("BEGIN CERTIFICATE").count(), 2);
        let without = ca_content("a/b key c", "a/b", &pem, &[]);
        assert_eq!(without.content().unwrap().origin, content.origin);
        assert_ne!(without.content().unwrap().data, content.data);
        for bad in ["", "text", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"] {
            let found = ca_content("a/b key c", "a/b", bad, &roots);
            assert!(matches!(found, Source::Unusable(_)), "{bad:?}");
        }
    }
}
