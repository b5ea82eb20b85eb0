//! Writes what was decided.
//!
//! Long: one function per kind of object that is written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::{PolicyRule, Role, RoleBinding, RoleRef, Subject};
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, ListParams, ObjectMeta, Patch, PatchParams,
};
use kube::core::{DeserializeGuard, NamespaceResourceScope};
use kube::{Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use stoker_api::GatewaySync;
use stoker_api::chain::Chain;
use stoker_api::contract::metadata::{self, Metadata, PausedBy};
use stoker_api::names::{self, Annotation, FINALIZER};
use stoker_core::metadata::without_news;
use stoker_core::reconcile::{Write, emergency};

use super::api::{FIELD_MANAGER, owned_by};
use super::cache::{Key, Known, PublishedMetadata, Versions};
use super::{Context, Error, Next, TokenWriter, fleet};

/// How soon a pass follows one that wrote over something that it had not seen yet.
const CONFLICT_RETRY: Duration = Duration::from_millis(200);

/// GatewaySyncs whose agents are told to stop at the same time.
const TOLD_AT_ONCE: usize = 32;

/// What became of the writes.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    /// The first that failed, in words for the status.
    pub(crate) fault: Option<String>,
    /// The version of the GatewaySync after them, where it was written.
    pub(crate) resource_version: Option<String>,
    retry: Retry,
}

/// What helps against a failed write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Retry {
    /// Nothing failed, or only a change of the spec helps.
    #[default]
    None,
    /// Something else was written meanwhile: at once, with what it is now.
    Conflict,
    /// Trying again, less and less often.
    Backoff,
}

/// Why a write failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("this instance does not lead any more")]
    NotLeading(#[source] Error),
    #[error("failed to write {what}")]
    Write { what: String, source: Box<kube::Error> },
    #[error("failed to publish the metadata")]
    Metadata(#[source] metadata::Error),
}

/// Writes everything that was decided. A failed write does not keep the others from being tried.
pub(crate) async fn apply(
    context: &Context,
    key: &Key,
    sync: &GatewaySync,
    writes: &[Write],
    versions: &Versions,
) -> Applied {
    let mut applied = Applied::default();
    match patch_sync(context, key, sync, writes).await {
        Ok(version) => applied.resource_version = version,
        Err(fault) => applied.fail(&fault),
    }
    for write in writes {
        if let Err(fault) = apply_one(context, key, sync, write, versions).await {
            applied.fail(&fault);
        }
    }
    if applied.is_stale() {
        refresh(context, key).await;
    }
    applied
}

/// Reads what was written meanwhile: a watch may be late, or may have lost the change.
pub(crate) async fn refresh(context: &Context, key: &Key) {
    let cache = &context.cache;
    let metadata = Key::new(&key.namespace, &names::metadata_config_map(&key.name));
    if let Some(reported) = cache.map_version(&metadata)
        && let Ok(found) = read(context, &metadata, Some(&fleet::owned_selector())).await
    {
        cache.read_map(&metadata, &reported, found);
    }
    let rights = Key::new(&key.namespace, &names::agent_role(&key.name));
    if let Some(reported) = cache.role_version(&rights)
        && let Ok(found) = read(context, &rights, Some(&fleet::owned_selector())).await
    {
        cache.read_role(&rights, &reported, found);
    }
    for binding in [rights, Key::new(&key.namespace, &names::token_role_binding(&key.name))] {
        if let Some(reported) = cache.binding_version(&binding)
            && let Ok(found) = read(context, &binding, Some(&fleet::owned_selector())).await
        {
            cache.read_binding(&binding, &reported, found);
        }
    }
    let selector = context.shared.watch_label_selector.as_deref();
    if let Some(reported) = cache.sync_version(key)
        && let Ok(found) = read::<DeserializeGuard<GatewaySync>>(context, key, selector).await
    {
        let uid = |sync: &DeserializeGuard<GatewaySync>| sync.meta().uid.clone();
        let holds = |uid: String| context.settings.shard.is_none_or(|shard| shard.holds(&uid));
        let found = found.filter(|sync| holds(uid(sync).unwrap_or_default()));
        cache.read_sync(key, &reported, found);
    }
}

/// Reads an object as a watch with this selector reports it: none where it is gone, or left out.
async fn read<K>(
    context: &Context,
    key: &Key,
    selector: Option<&str>,
) -> Result<Option<K>, kube::Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + Debug,
{
    let api: Api<K> = Api::namespaced(context.shared.client.clone(), &key.namespace);
    let mut only = ListParams::default().fields(&format!("metadata.name={}", key.name));
    only.label_selector = selector.map(ToOwned::to_owned);
    Ok(api.list(&only).await?.items.pop())
}

async fn apply_one(
    context: &Context,
    key: &Key,
    sync: &GatewaySync,
    write: &Write,
    versions: &Versions,
) -> Result<(), Fault> {
    match write {
        // Both are changes of the GatewaySync itself, and were made in one request.
        Write::Finalizer | Write::Annotations(_) => Ok(()),
        Write::Role { shards } => {
            put_over(context, role(sync, *shards), versions.role.as_deref()).await
        }
        Write::Binding { accounts } => {
            put_over(context, binding(sync, accounts), versions.binding.as_deref()).await
        }
        Write::TokenBinding => {
            bind_token_writer(context, sync, versions.token_binding.as_deref()).await
        }
        Write::TokenUnbinding => {
            delete::<RoleBinding>(context, key, &names::token_role_binding(&key.name)).await
        }
        Write::StatusShard(shard) => {
            put(context, &shard_map(sync, *shard)).await?;
            want_reports(context, key, sync, *shard).await
        }
        Write::Metadata(metadata) => {
            let version = versions.metadata.clone();
            let written = publish_metadata(context, sync, metadata, version.clone()).await;
            if matches!(written, Err(Fault::Metadata(_))) {
                publish_pause(context, key, sync, metadata, version).await?;
            }
            written
        }
    }
}

/// Tells agents to stop where nothing else can be told to them.
async fn publish_pause(
    context: &Context,
    key: &Key,
    sync: &GatewaySync,
    next: &Metadata,
    observed_version: Option<String>,
) -> Result<(), Fault> {
    let published = context.cache.metadata(key, sync.metadata.uid.as_deref());
    let Some(published) = published.and_then(|published| published.content.ok()) else {
        return Ok(());
    };
    let paused = without_news(next, &published);
    if paused == published {
        return Ok(());
    }
    publish_metadata(context, sync, &paused, observed_version).await
}

/// Tells the agents of all GatewaySyncs to stop, those in the middle of a sync first. What can't be
/// told here is left to the passes: they also write a status, for which no agent should wait.
pub(crate) async fn stop_all(context: &Context, reason: &str) {
    let paused_by = emergency(reason);
    let told = context.cache.keys().into_iter().map(|key| {
        let paused_by = Some(paused_by.clone());
        async move {
            let Some(Known::Sync(sync)) = context.cache.sync(&key) else { return };
            let published = context.cache.metadata(&key, sync.metadata.uid.as_deref());
            let Some(PublishedMetadata { content: Ok(published), resource_version }) = published
            else {
                return;
            };
            let next = Metadata { is_paused: true, paused_by, ..published.clone() };
            if next != published
                && let Err(fault) = publish_metadata(context, &sync, &next, resource_version).await
            {
                tracing::debug!(%key, fault = %Chain(&fault), "a pass tells it to stop");
            }
        }
    });
    futures::stream::iter(told).buffer_unordered(TOLD_AT_ONCE).for_each(async |()| {}).await;
}

/// Tells the agents of a GatewaySync that can't be read of the emergency stop, and of its end. What
/// else was published stays: nothing newer is known.
pub(crate) async fn stop_undecodable(
    context: &Context,
    key: &Key,
    uid: Option<&str>,
) -> Result<(), Fault> {
    let Some(PublishedMetadata { content: Ok(published), resource_version }) =
        context.cache.metadata(key, uid)
    else {
        return Ok(());
    };
    let is_stopped = matches!(published.paused_by, Some(PausedBy::Emergency { .. }));
    let (is_paused, paused_by) = match context.cache.emergency() {
        Some(reason) if !published.is_paused => (true, Some(emergency(&reason))),
        None if is_stopped && is_paused_by_spec(context, key).await? => {
            (true, Some(PausedBy::Spec))
        }
        None if is_stopped => (false, None),
        Some(_) | None => return Ok(()),
    };
    let next = Metadata { is_paused, paused_by, ..published };
    let name = names::metadata_config_map(&key.name);
    let api: Api<ConfigMap> = Api::namespaced(context.shared.client.clone(), &key.namespace);
    let found = api.get_metadata(&name).await;
    let found = found.map_err(|source| failed(&format!("ConfigMap {key}"), source))?.metadata;
    let metadata = ObjectMeta {
        name: Some(name),
        namespace: found.namespace,
        labels: found.labels,
        owner_references: found.owner_references,
        resource_version,
        ..ObjectMeta::default()
    };
    let data = Some(next.to_data().map_err(Fault::Metadata)?);
    put(context, &ConfigMap { metadata, data, ..ConfigMap::default() }).await
}

/// Says whether a GatewaySync that can't be read is paused by its spec.
async fn is_paused_by_spec(context: &Context, key: &Key) -> Result<bool, Fault> {
    let resource = ApiResource::erase::<GatewaySync>(&());
    let api: Api<DynamicObject> =
        Api::namespaced_with(context.shared.client.clone(), &key.namespace, &resource);
    let found = api.get_opt(&key.name).await;
    let found = found.map_err(|source| failed(&format!("GatewaySync {key}"), source))?;
    Ok(found.is_some_and(|object| object.data["spec"]["paused"] == true))
}

/// Publishes metadata, unless what is published has changed since it was observed.
pub(crate) async fn publish_metadata(
    context: &Context,
    sync: &GatewaySync,
    metadata: &Metadata,
    observed_version: Option<String>,
) -> Result<(), Fault> {
    let data = metadata.to_data().map_err(Fault::Metadata)?;
    let mut object_meta = owned_by(sync, names::metadata_config_map(&sync.name_any()));
    object_meta.resource_version = observed_version;
    put(context, &ConfigMap { metadata: object_meta, data: Some(data), ..ConfigMap::default() })
        .await
}

/// Asks agents to report again where a status object had to be made again: they do not watch it.
async fn want_reports(
    context: &Context,
    key: &Key,
    sync: &GatewaySync,
    shard: u8,
) -> Result<(), Fault> {
    let published = context.cache.metadata(key, sync.metadata.uid.as_deref());
    let published = published.and_then(|published| published.content.ok());
    if published.is_none_or(|metadata| metadata.status_shards <= shard) {
        return Ok(());
    }
    let mark = format!("{shard} {}", jiff::Timestamp::now());
    let annotations = BTreeMap::from([(Annotation::ReportsWanted.as_str(), mark)]);
    let patch = json!({ "metadata": { "annotations": annotations } });
    let name = names::metadata_config_map(&key.name);
    context.check_leading().map_err(Fault::NotLeading)?;
    let api: Api<ConfigMap> = Api::namespaced(context.shared.client.clone(), &key.namespace);
    api.patch_metadata(&name, &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .map_err(|source| failed(&format!("ConfigMap {}/{name}", key.namespace), source))?;
    Ok(())
}

/// Adds the finalizer and changes annotations, in one request.
async fn patch_sync(
    context: &Context,
    key: &Key,
    sync: &GatewaySync,
    writes: &[Write],
) -> Result<Option<String>, Fault> {
    let mut metadata = BTreeMap::new();
    for write in writes {
        match write {
            Write::Finalizer => {
                let mut finalizers = sync.finalizers().to_vec();
                finalizers.push(FINALIZER.to_owned());
                metadata.insert("finalizers", json!(finalizers));
            }
            Write::Annotations(changes) => {
                let changes = changes.iter().map(|(name, value)| (name.as_str(), value));
                metadata.insert("annotations", json!(changes.collect::<BTreeMap<_, _>>()));
            }
            Write::Role { .. }
            | Write::Binding { .. }
            | Write::TokenBinding
            | Write::TokenUnbinding
            | Write::StatusShard(_)
            | Write::Metadata(_) => {}
        }
    }
    if metadata.is_empty() {
        return Ok(None);
    }
    context.check_leading().map_err(Fault::NotLeading)?;
    metadata.insert("resourceVersion", json!(sync.resource_version()));
    let patch: Value = json!({ "metadata": metadata });
    let written = context
        .syncs(key)
        .patch_metadata(&key.name, &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .map_err(|source| failed(&format!("GatewaySync {key}"), source))?;
    Ok(written.metadata.resource_version)
}

/// Applies an object as its only owner, unless it has changed since it was observed.
async fn put_over<K>(
    context: &Context,
    mut object: K,
    observed_version: Option<&str>,
) -> Result<(), Fault>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Serialize
        + DeserializeOwned
        + Debug,
{
    object.meta_mut().resource_version = observed_version.map(ToOwned::to_owned);
    put(context, &object).await
}

/// Applies an object as its only owner.
async fn put<K>(context: &Context, object: &K) -> Result<(), Fault>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Serialize
        + DeserializeOwned
        + Debug,
{
    context.check_leading().map_err(Fault::NotLeading)?;
    let namespace = object.namespace().unwrap_or_default();
    let api: Api<K> = Api::namespaced(context.shared.client.clone(), &namespace);
    let name = object.name_any();
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    api.patch(&name, &parameters, &Patch::Apply(object))
        .await
        .map_err(|source| failed(&format!("{} {namespace}/{name}", K::kind(&())), source))?;
    Ok(())
}

/// Deletes an object, if it is there.
async fn delete<K>(context: &Context, key: &Key, name: &str) -> Result<(), Fault>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + Debug,
{
    context.check_leading().map_err(Fault::NotLeading)?;
    let api: Api<K> = Api::namespaced(context.shared.client.clone(), &key.namespace);
    match api.delete(name, &DeleteParams::default()).await {
        Ok(_) => Ok(()),
        Err(error) if is_not_found(&error) => Ok(()),
        Err(source) => Err(failed(&format!("{} {}/{name}", K::kind(&()), key.namespace), source)),
    }
}

/// Lets the controller write Secrets in the namespace of a GatewaySync.
async fn bind_token_writer(
    context: &Context,
    sync: &GatewaySync,
    observed_version: Option<&str>,
) -> Result<(), Fault> {
    let Some(writer) = &context.settings.token_writer else { return Ok(()) };
    let binding = token_binding(sync, writer, &context.shared.namespace);
    match put_over(context, binding.clone(), observed_version).await {
        // The role of a binding can't be changed: another release of the chart made this one.
        Err(Fault::Write { source, .. }) if is_invalid(&source) => {
            let key = Key::of(sync);
            delete::<RoleBinding>(context, &key, &binding.name_any()).await?;
            put(context, &binding).await
        }
        written => written,
    }
}

fn token_binding(sync: &GatewaySync, writer: &TokenWriter, namespace: &str) -> RoleBinding {
    RoleBinding {
        metadata: owned_by(sync, names::token_role_binding(&sync.name_any())),
        role_ref: RoleRef {
            api_group: "rbac.authorization.k8s.io".to_owned(),
            kind: "ClusterRole".to_owned(),
            name: writer.role.clone(),
        },
        subjects: Some(vec![Subject {
            kind: "ServiceAccount".to_owned(),
            name: writer.account.clone(),
            namespace: Some(namespace.to_owned()),
            ..Subject::default()
        }]),
    }
}

fn failed(what: &str, source: kube::Error) -> Fault {
    Fault::Write { what: what.to_owned(), source: Box::new(source) }
}

/// The rights of agents: to read their metadata, and to write into their status objects.
pub(crate) fn rules(sync_name: &str, shards: u8) -> Vec<PolicyRule> {
    let rule = |verbs: &[&str], names: Vec<String>| PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["configmaps".to_owned()]),
        resource_names: Some(names),
        verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        ..PolicyRule::default()
    };
    let status = (0..shards).map(|shard| names::status_config_map(sync_name, shard));
    vec![
        rule(&["get", "list", "watch"], vec![names::metadata_config_map(sync_name)]),
        rule(&["get", "patch"], status.collect()),
    ]
}

fn role(sync: &GatewaySync, shards: u8) -> Role {
    let name = sync.name_any();
    Role { metadata: owned_by(sync, names::agent_role(&name)), rules: Some(rules(&name, shards)) }
}

fn binding(sync: &GatewaySync, accounts: &BTreeSet<String>) -> RoleBinding {
    let name = names::agent_role(&sync.name_any());
    let subject = |account: &String| Subject {
        kind: "ServiceAccount".to_owned(),
        name: account.clone(),
        namespace: sync.namespace(),
        ..Subject::default()
    };
    RoleBinding {
        metadata: owned_by(sync, name.clone()),
        role_ref: RoleRef {
            api_group: "rbac.authorization.k8s.io".to_owned(),
            kind: "Role".to_owned(),
            name,
        },
        subjects: Some(accounts.iter().map(subject).collect()),
    }
}

/// An empty status object. Its keys belong to the agents.
fn shard_map(sync: &GatewaySync, shard: u8) -> ConfigMap {
    let name = names::status_config_map(&sync.name_any(), shard);
    ConfigMap { metadata: owned_by(sync, name), ..ConfigMap::default() }
}

impl Applied {
    fn fail(&mut self, fault: &Fault) {
        let retry = match fault {
            Fault::Write { source, .. } if is_conflict(source) => Retry::Conflict,
            Fault::Write { .. } | Fault::NotLeading(_) => Retry::Backoff,
            Fault::Metadata(_) => Retry::None,
        };
        self.retry = self.retry.max(retry);
        self.fault.get_or_insert_with(|| Chain(fault).to_string());
    }

    /// Takes over what became of one more write.
    pub(crate) fn add(&mut self, written: Result<(), String>) {
        if let Err(fault) = written {
            self.retry = Retry::Backoff;
            self.fault.get_or_insert(fault);
        }
    }

    /// Says whether the pass went by what was not true any more.
    pub(crate) fn is_stale(&self) -> bool {
        self.retry == Retry::Conflict
    }

    /// Returns when to try again, and counts failures in a row.
    pub(crate) fn next(&self, context: &Context, key: &Key) -> Next {
        context.memories.with(key, |memory| match self.retry {
            Retry::Backoff => Next::After(memory.failed()),
            Retry::Conflict => Next::After(CONFLICT_RETRY),
            Retry::None => {
                memory.failures = 0;
                Next::Rest
            }
        })
    }
}

/// Says whether another write came first.
pub(crate) fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409)
}

/// Says whether the API server refuses the object as it is.
fn is_invalid(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 422)
}

/// Says whether the object does not exist.
pub(crate) fn is_not_found(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}
