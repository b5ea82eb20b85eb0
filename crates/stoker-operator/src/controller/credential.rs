//! The Secrets of a GatewaySync: which it names, what they hold, and how git gets them.
//!
//! # Promises
//! What a Secret holds is read when the remote is asked, lies in memory files while git runs, and
//! is then gone. Between two queries only a digest is kept, beside the versions that it is of.
//!
//! Long: every kind of credential, from its field to what git gets.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret as Object;
use kube::ResourceExt as _;
use kube::api::Api;
use sha2::{Digest as _, Sha256};
use stoker_api::GatewaySync;
use stoker_api::chain::Chain;
use stoker_api::condition::Reason;
use stoker_api::gatewaysync::{Auth as SpecAuth, AuthMethod, GithubApp, ResolvedSecretRef};
use stoker_api::names::{SecretKey, github_token_secret};
use stoker_api::word::{HttpUrl, RepoUrl, Secret};
use stoker_core::metadata::git_timeout;
use stoker_core::reconcile::Failure;
use stoker_git::auth::{Auth, Content, github_app};
use stoker_git::memfile::MemFile;
use stoker_git::{Access, Limits, PlainHttp};
use tokio::time::Instant;
use zeroize::Zeroizing;

use super::Context;
use super::arguments::SecretAccess;
use super::cache::Key;

/// A digest that stands for credentials without showing them.
pub(crate) type Digest = [u8; 32];

/// One value that a GatewaySync takes from a Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Need {
    field: &'static str,
    reference: ResolvedSecretRef,
    content: Content,
}

/// What the Secrets hold.
pub(crate) struct Material {
    values: BTreeMap<&'static str, Zeroizing<Vec<u8>>>,
    /// The versions that were read, by the name of the Secret.
    pub(crate) versions: BTreeMap<String, String>,
}

/// Everything that git needs to reach the remote once.
pub(crate) struct Session {
    pub(crate) access: Access,
    /// The GitHub App whose token is needed; `access` has no credentials then.
    pub(crate) app: Option<github_app::Settings>,
    /// The files that both name.
    _held: Vec<MemFile>,
}

/// The most bytes of refs that are read, about 90,000 refs: a list takes several times its size in
/// memory, and all GatewaySyncs share the operator's.
const MAX_LISTING: usize = 8 * 1024 * 1024;
/// The longest time of a query, whatever `spec.git.timeout` says: processes are few, and one that
/// hangs keeps another remote waiting.
const LONGEST_QUERY: Duration = Duration::from_mins(2);

/// How old what is known of a Secret may be where Secrets are not watched.
const READ_AGAIN: Duration = Duration::from_secs(30);

const TOKEN: &str = "spec.git.auth.token.secretRef";
const SSH_KEY: &str = "spec.git.auth.sshKey.secretRef";
const KNOWN_HOSTS: &str = "spec.git.auth.sshKey.knownHosts.secretRef";
const APP_KEY: &str = "spec.git.auth.githubApp.privateKeySecretRef";
const CA: &str = "spec.git.caSecretRef";

/// Returns the names of all Secrets that concern the controller.
pub(crate) fn names(sync: &GatewaySync) -> BTreeSet<String> {
    let mut names: BTreeSet<String> =
        needs(sync).into_iter().map(|need| need.reference.name).collect();
    let webhook = sync.spec.webhook.as_ref().and_then(|webhook| webhook.secret_ref.as_ref());
    names.extend(webhook.map(|reference| reference.name.clone()));
    // Agents wait for it if someone deletes it.
    let method = sync.spec.git.auth.as_ref().and_then(SpecAuth::method);
    if matches!(method, Some(AuthMethod::GithubApp { .. })) {
        names.insert(github_token_secret(&sync.name_any()));
    }
    names
}

fn needs(sync: &GatewaySync) -> Vec<Need> {
    let git = &sync.spec.git;
    let mut needs = Vec::new();
    let mut add = |field, reference: ResolvedSecretRef, content| {
        needs.push(Need { field, reference, content });
    };
    match git.auth.as_ref().and_then(SpecAuth::method) {
        None => {}
        Some(AuthMethod::Token { token, .. }) => add(TOKEN, token, Content::Token),
        Some(AuthMethod::SshKey { key, known_hosts }) => {
            add(SSH_KEY, key, Content::SshKey);
            if let Some(known_hosts) = known_hosts {
                add(KNOWN_HOSTS, known_hosts, Content::KnownHosts);
            }
        }
        Some(AuthMethod::GithubApp { key, .. }) => add(APP_KEY, key, Content::GithubAppKey),
    }
    if let Some(ca) = &git.ca_secret_ref {
        add(CA, ca.resolve(SecretKey::Ca), Content::Certificates);
    }
    needs
}

/// Returns a digest of the credentials: from memory, where the watch says that nothing changed.
pub(crate) async fn digest(
    context: &Context,
    key: &Key,
    sync: &GatewaySync,
) -> Result<Digest, Failure> {
    let generation = sync.metadata.generation;
    let known = context.memories.with(key, |memory| memory.credentials.clone());
    if let Some(known) = known.filter(|known| known.generation == generation) {
        let is_current = known.versions.iter().all(|(name, version)| {
            let secret = Key::new(&key.namespace, name);
            context.cache.secret_version(&secret).as_ref() == Some(version)
        });
        if is_current {
            return Ok(known.digest);
        }
    }
    Ok(load(context, key, sync).await?.digest(sync))
}

/// Reads the Secrets, and checks that they can be what they should be.
pub(crate) async fn load(
    context: &Context,
    key: &Key,
    sync: &GatewaySync,
) -> Result<Material, Failure> {
    let needs = needs(sync);
    let names: BTreeSet<&str> = needs.iter().map(|need| need.reference.name.as_str()).collect();
    let api: Api<Object> = Api::namespaced(context.shared.client.clone(), &key.namespace);
    let mut secrets = BTreeMap::new();
    for name in names {
        let found = api.get_opt(name).await.map_err(|error| unreadable(name, &error))?;
        let version = found.as_ref().and_then(|found| found.metadata.resource_version.clone());
        context.cache.saw_secret(&Key::new(&key.namespace, name), version);
        secrets.insert(name, found);
    }
    let mut material = Material { values: BTreeMap::new(), versions: BTreeMap::new() };
    for need in &needs {
        let secret = secrets.get(need.reference.name.as_str()).and_then(Option::as_ref);
        material.take(need, secret)?;
    }
    let kept = material.remember(sync);
    context.memories.with(key, |memory| memory.credentials = Some(kept));
    Ok(material)
}

/// What is known of the secret of push events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PushSecret {
    reference: ResolvedSecretRef,
    version: String,
    read: Instant,
    has_key: bool,
}

/// Whether a GatewaySync's secret of push events exists, and is not empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PushSecretState {
    /// It does, or does not.
    Read { has_key: bool },
    /// The Secret could not be read; this is what was known of it before.
    Unread { had_key: Option<bool> },
}

/// Says whether a GatewaySync's secret of push events exists, and is not empty. The Secret is read
/// again when the watch reports another version, or after a while where there is no watch.
pub(crate) async fn push_secret(
    context: &Context,
    key: &Key,
    reference: ResolvedSecretRef,
) -> PushSecretState {
    let secret = Key::new(&key.namespace, &reference.name);
    let version = context.cache.secret_version(&secret);
    let known = context.memories.with(key, |memory| memory.push_secret.clone());
    let known = known.filter(|known| known.reference == reference);
    let now = Instant::now();
    if let Some(known) = &known
        && known.is_current(context.settings.secret_access, version.as_deref(), now)
    {
        return PushSecretState::Read { has_key: known.has_key };
    }
    let api: Api<Object> = Api::namespaced(context.shared.client.clone(), &secret.namespace);
    let found = match api.get_opt(&secret.name).await {
        Ok(found) => found.unwrap_or_default(),
        Err(error) => {
            let Key { namespace, name } = &secret;
            tracing::warn!(%namespace, %name, error = %Chain(&error), "failed to read a Secret");
            return PushSecretState::Unread { had_key: known.map(|known| known.has_key) };
        }
    };
    let version = found.metadata.resource_version;
    context.cache.saw_secret(&secret, version.clone());
    let value = found.data.unwrap_or_default().remove(&reference.key);
    let has_key = value.is_some_and(|value| !Secret::from_file(value.0).is_empty());
    let known = version.map(|version| PushSecret { reference, version, read: now, has_key });
    context.memories.with(key, |memory| memory.push_secret = known);
    PushSecretState::Read { has_key }
}

impl PushSecret {
    fn is_current(&self, access: SecretAccess, version: Option<&str>, now: Instant) -> bool {
        match access {
            SecretAccess::Watch => version == Some(&self.version),
            SecretAccess::Get => now - self.read < READ_AGAIN,
        }
    }
}

fn unreadable(name: &str, error: &kube::Error) -> Failure {
    let message = format!("failed to read Secret {name:?}: {}", Chain(error));
    Failure { reason: Reason::SecretNotFound, message }
}

/// What is kept of credentials between two queries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remembered {
    generation: Option<i64>,
    versions: BTreeMap<String, String>,
    digest: Digest,
}

impl Material {
    fn take(&mut self, need: &Need, secret: Option<&Object>) -> Result<(), Failure> {
        let Need { field, reference, content } = need;
        let ResolvedSecretRef { name, key } = reference;
        let missing = |message: String| Failure { reason: Reason::SecretNotFound, message };
        let secret =
            secret.ok_or_else(|| missing(format!("{field}: there is no Secret {name:?}")))?;
        let value = secret.data.as_ref().and_then(|data| data.get(key));
        let value =
            value.ok_or_else(|| missing(format!("{field}: Secret {name:?} has no key {key:?}")))?;
        let value = Zeroizing::new(value.0.clone());
        let file = MemFile::new(&value).map_err(|error| Failure {
            reason: Reason::RefResolutionFailed,
            message: format!("failed to keep a credential in memory: {error}"),
        })?;
        if let Some(fault) = content.fault(&file.path()) {
            let message = format!("{field}: key {key:?} of Secret {name:?} {fault}");
            return Err(Failure { reason: Reason::AuthenticationFailed, message });
        }
        let version = secret.metadata.resource_version.clone().unwrap_or_default();
        self.versions.insert(name.clone(), version);
        self.values.insert(field, value);
        Ok(())
    }

    /// Returns the digest of the credentials and of everything else that makes a query different.
    pub(crate) fn digest(&self, sync: &GatewaySync) -> Digest {
        let git = &sync.spec.git;
        let method = git.auth.as_ref().and_then(SpecAuth::method);
        let method = match &method {
            Some(AuthMethod::Token { username, .. }) => format!("token {username}"),
            Some(AuthMethod::SshKey { .. }) => "sshKey".to_owned(),
            Some(AuthMethod::GithubApp { app, .. }) => {
                let api = app.api_base_url.as_deref().unwrap_or_default();
                format!("githubApp {} {} {api}", app.app_id, app.installation_id)
            }
            None => "none".to_owned(),
        };
        let mut hash = Sha256::new();
        let mut add = |part: &[u8]| {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(part);
        };
        add(git.repo.as_bytes());
        add(git.proxy.as_deref().unwrap_or_default().as_bytes());
        add(&[u8::from(git.allow_insecure_http.unwrap_or(false))]);
        add(method.as_bytes());
        for (field, value) in &self.values {
            add(field.as_bytes());
            add(value);
        }
        hash.finalize().into()
    }

    fn remember(&self, sync: &GatewaySync) -> Remembered {
        Remembered {
            generation: sync.metadata.generation,
            versions: self.versions.clone(),
            digest: self.digest(sync),
        }
    }

    /// Builds what git needs. `pinned` are the host keys that were seen first.
    pub(crate) fn session(
        &self,
        sync: &GatewaySync,
        url: RepoUrl,
        pinned: Option<&str>,
    ) -> Result<Session, Failure> {
        let mut held = Vec::new();
        let git = &sync.spec.git;
        let ca_file = self.file(CA, &mut held)?;
        let auth = match git.auth.as_ref().and_then(SpecAuth::method) {
            Some(AuthMethod::Token { username, .. }) => Auth::Token {
                file: self.file(TOKEN, &mut held)?.unwrap_or_default(),
                username: username.to_owned(),
            },
            Some(AuthMethod::SshKey { .. }) => {
                let given = self.file(KNOWN_HOSTS, &mut held)?;
                let known_hosts = match given {
                    Some(given) => given,
                    None => hold(pinned.unwrap_or_default().as_bytes(), &mut held)?,
                };
                Auth::SshKey {
                    key: self.file(SSH_KEY, &mut held)?.unwrap_or_default(),
                    known_hosts,
                }
            }
            Some(AuthMethod::GithubApp { .. }) | None => Auth::None,
        };
        let proxy = git.proxy.as_deref().map(HttpUrl::parse).transpose();
        let proxy = proxy.map_err(|error| Failure {
            reason: Reason::RefResolutionFailed,
            message: format!("spec.git.proxy: {error}"),
        })?;
        let plain_http = if git.allow_insecure_http == Some(true) {
            PlainHttp::Allowed
        } else {
            PlainHttp::Refused
        };
        let app = self.app(sync, &url, plain_http, &mut held)?;
        let app = app.map(|app| github_app::Settings {
            ca_file: ca_file.clone(),
            proxy: proxy.clone(),
            ..app
        });
        let access = Access {
            url,
            auth,
            ca_file,
            proxy,
            plain_http,
            helper: helper().to_owned(),
            limits: Limits {
                listing: MAX_LISTING,
                ..Limits::within(git_timeout(git).as_duration().min(LONGEST_QUERY))
            },
            addresses: Vec::new(),
            server_words: stoker_git::ServerWords::default(),
        };
        Ok(Session { access, app, _held: held })
    }

    fn app(
        &self,
        sync: &GatewaySync,
        url: &RepoUrl,
        plain_http: PlainHttp,
        held: &mut Vec<MemFile>,
    ) -> Result<Option<github_app::Settings>, Failure> {
        let git = &sync.spec.git;
        let Some(AuthMethod::GithubApp { app, .. }) = git.auth.as_ref().and_then(SpecAuth::method)
        else {
            return Ok(None);
        };
        let invalid =
            |message: String| Failure { reason: Reason::GithubAppExchangeFailed, message };
        let api = app.api_base_url.as_deref().unwrap_or(GithubApp::DEFAULT_API);
        let api = HttpUrl::parse(api)
            .map_err(|error| invalid(format!("spec.git.auth.githubApp.apiBaseURL: {error}")))?;
        let installation_id = u64::try_from(app.installation_id).map_err(|_| {
            invalid("spec.git.auth.githubApp.installationId must be positive".to_owned())
        })?;
        Ok(Some(github_app::Settings {
            app_id: app.app_id.to_string(),
            installation_id,
            key_file: self.file(APP_KEY, held)?.unwrap_or_default(),
            api,
            repository: repository_of(url),
            ca_file: None,
            proxy: None,
            addresses: Vec::new(),
            plain_http,
            timeout: git_timeout(git).as_duration(),
        }))
    }

    fn file(&self, field: &str, held: &mut Vec<MemFile>) -> Result<Option<PathBuf>, Failure> {
        self.values.get(field).map(|value| hold(value, held)).transpose()
    }
}

/// The name of the repository, to which a token is limited: the last part of the URL's path.
fn repository_of(url: &RepoUrl) -> Option<String> {
    let last = url.as_str().trim_end_matches('/').rsplit('/').next()?;
    let name = last.strip_suffix(".git").unwrap_or(last);
    Some(name.to_owned()).filter(|name| !name.is_empty())
}

/// Git runs this same program to ask for credentials and to become ssh.
fn helper() -> &'static Path {
    static HELPER: LazyLock<PathBuf> =
        LazyLock::new(|| std::env::current_exe().unwrap_or_else(|_| "stoker-operator".into()));
    &HELPER
}

fn hold(value: &[u8], held: &mut Vec<MemFile>) -> Result<PathBuf, Failure> {
    let file = MemFile::new(value).map_err(|error| Failure {
        reason: Reason::RefResolutionFailed,
        message: format!("failed to keep a credential in memory: {error}"),
    })?;
    let path = file.path();
    held.push(file);
    Ok(path)
}

#[cfg(test)]
impl Session {
    /// Returns what git needs where no credentials are.
    pub(crate) fn public(url: RepoUrl) -> Self {
        Self { access: Access::public(url, helper()), app: None, _held: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use stoker_testkit::object::{gateway_sync, secret};

    use super::*;

    fn taken(sync: &GatewaySync, secret: Option<&Object>) -> Result<Material, Failure> {
        let mut material = Material { values: BTreeMap::new(), versions: BTreeMap::new() };
        for need in needs(sync) {
            material.take(&need, secret)?;
        }
        Ok(material)
    }

    #[test]
    fn what_is_missing_is_named_by_field_secret_and_key() {
        let sync = gateway_sync("plant").token("git").build();
        let failure = taken(&sync, None).err().unwrap();
        assert_eq!(failure.reason, Reason::SecretNotFound);
        assert_eq!(failure.message, format!("{TOKEN}: there is no Secret \"git\""));
        let other = secret("git", [("password", "x")]);
        let failure = taken(&sync, Some(&other)).err().unwrap();
        assert_eq!(failure.message, format!("{TOKEN}: Secret \"git\" has no key \"token\""));
        let empty = secret("git", [("token", "")]);
        let failure = taken(&sync, Some(&empty)).err().unwrap();
        assert_eq!(failure.reason, Reason::AuthenticationFailed);
        assert_eq!(failure.message, format!("{TOKEN}: key \"token\" of Secret \"git\" is empty"));
    }

    #[test]
    fn a_rotated_secret_has_another_digest() {
        let sync = gateway_sync("plant").token("git").build();
        let digest = |value: &str| {
            let secret = secret("git", [("token", value)]);
            taken(&sync, Some(&secret)).unwrap().digest(&sync)
        };
        assert_eq!(digest("one"), digest("one"));
        assert_ne!(digest("one"), digest("two"));
    }

    // F3, R1: what a remote or GitHub said is shared by this digest, so that naming another's App, or
    // sending its token to a server of one's own, gets nothing that was got with its key.
    #[test]
    fn only_who_has_the_same_credentials_for_the_same_servers_has_the_same_digest() {
        let digest = |repo: &str, api: &str, ids: (i64, i64), key: &str| {
            let sync = gateway_sync("plant").repo(repo).github_app(ids, "app").spec(|spec| {
                let app = spec.git.auth.as_mut().and_then(|auth| auth.github_app.as_mut());
                app.unwrap().api_base_url = Some(api.to_owned());
            });
            let values = BTreeMap::from([(APP_KEY, key.as_bytes().to_vec().into())]);
            Material { values, versions: BTreeMap::new() }.digest(&sync.build())
        };
        let [repo, api] = ["https://git.example.com/a.git", "https://api.example.com"];
        let theirs = digest(repo, api, (1, 2), "their key");
        assert_eq!(theirs, digest(repo, api, (1, 2), "their key"));
        for other in [
            digest(repo, api, (1, 2), "my key"),
            digest(repo, api, (1, 3), "their key"),
            digest(repo, "https://evil.example.com", (1, 2), "their key"),
            digest("https://evil.example.com/a.git", api, (1, 2), "their key"),
        ] {
            assert_ne!(other, theirs);
        }
    }

    #[test]
    fn a_secret_of_push_events_that_is_not_watched_is_read_again_after_a_while() {
        let read = Instant::now();
        let reference = ResolvedSecretRef { name: "push".to_owned(), key: "key".to_owned() };
        let known = PushSecret { reference, version: "1".to_owned(), read, has_key: true };
        let is_current = |access, version, seconds| {
            known.is_current(access, version, read + Duration::from_secs(seconds))
        };
        // Nothing changes the version that was seen when the Secret was read.
        assert!(is_current(SecretAccess::Get, Some("1"), 29));
        assert!(!is_current(SecretAccess::Get, Some("1"), 30));
        assert!(is_current(SecretAccess::Watch, Some("1"), 3600));
        assert!(!is_current(SecretAccess::Watch, Some("2"), 0));
        assert!(!is_current(SecretAccess::Watch, None, 0));
    }

    #[test]
    fn every_secret_of_the_controller_is_named() {
        let sync = gateway_sync("plant").ssh_key("key", Some("hosts")).webhook("hook").build();
        assert_eq!(names(&sync), ["hook", "hosts", "key"].map(ToOwned::to_owned).into());
        let app = gateway_sync("plant").github_app((1, 2), "app").build();
        let wanted = ["app", "stoker-github-token-plant"].map(ToOwned::to_owned);
        assert_eq!(names(&app), wanted.into(), "the one that it writes, too");
    }
}
