//! The watches of the controller: what is watched where, and whom a change wakes.

mod lookup;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Pod as FullPod, Secret};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{Api, PartialObjectMeta};
use kube::core::{DeserializeGuard, NamespaceResourceScope};
use kube::runtime::watcher::Config;
use kube::{Client, Resource};
use stoker_api::names::{Label, MANAGED_BY, PAUSE_CONFIG_MAP, TRUE};
use stoker_api::{GatewaySync, SyncProfile};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::Context;
use super::apply::stop_all;
use super::arguments::SecretAccess;
use super::cache::Key;
use super::pod::{self, Pod};
use super::watch::{Change, dead_after, follow_some};
use lookup::Lookups;

/// How long passes wait for agents to be told of the emergency stop.
const TOLD_WITHIN: Duration = Duration::from_secs(10);
/// Pods that have ended are of no interest.
const LIVING: &str = "status.phase!=Succeeded,status.phase!=Failed";

/// Starts every watch.
pub(crate) fn watch(context: &Arc<Context>) -> JoinSet<()> {
    let mut watches = JoinSet::new();
    for scope in scopes(context) {
        let scope = scope.as_deref();
        watches.spawn(syncs(context, scope));
        watches.spawn(pods(context, scope));
        let (lookups, asked) = Lookups::new();
        watches.spawn(unlabelled(context, scope, lookups.clone()));
        watches.spawn(lookup::follow(Arc::clone(context), lookups, asked));
        watches.spawn(maps(context, scope));
        if context.settings.auto_bind_agent {
            watches.spawn(roles(context, scope));
            watches.spawn(bindings(context, scope));
        }
        watches.spawn(profiles(context, scope));
        if context.settings.secret_access == SecretAccess::Watch {
            watches.spawn(secrets(context, scope));
        }
    }
    watches.spawn(emergency(context));
    watches
}

/// Every watched namespace, or once all of them.
pub(crate) fn scopes(context: &Context) -> Vec<Option<String>> {
    let namespaces = &context.shared.watch_namespaces;
    if namespaces.is_empty() {
        return vec![None];
    }
    namespaces.iter().cloned().map(Some).collect()
}

pub(crate) fn api<K>(client: &Client, scope: Option<&str>) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    match scope {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

/// Follows one kind that has to be listed before the first pass.
fn each<K>(
    context: &Arc<Context>,
    scope: Option<&str>,
    config: Config,
    kind: &'static str,
    on: impl Fn(&Context, Option<&str>, Change<K>) -> Vec<Key> + Send + 'static,
) -> impl Future<Output = ()> + Send + 'static
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + serde::de::DeserializeOwned
        + std::fmt::Debug
        + Send
        + 'static,
{
    context.cache.expect_list();
    let is_listed = AtomicBool::new(false);
    at_leisure(
        context,
        scope,
        config,
        kind,
        |_| true,
        move |context, scope, change| {
            let listed = matches!(change, Change::Listed(_));
            let concerned = on(context, scope, change);
            if listed && !is_listed.swap(true, Ordering::SeqCst) {
                context.cache.has_listed();
            }
            concerned
        },
    )
}

/// Follows one kind; `on` returns whom a change concerns, and keeps what `is_kept` says.
fn at_leisure<K>(
    context: &Arc<Context>,
    scope: Option<&str>,
    config: Config,
    kind: &'static str,
    is_kept: impl Fn(&K) -> bool + Send + 'static,
    on: impl Fn(&Context, Option<&str>, Change<K>) -> Vec<Key> + Send + 'static,
) -> impl Future<Output = ()> + Send + 'static
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + serde::de::DeserializeOwned
        + std::fmt::Debug
        + Send
        + 'static,
{
    let api = api::<K>(&context.shared.client, scope);
    let config = dead_after(config, context.settings.watch_silent_seconds);
    let (context, scope) = (Arc::clone(context), scope.map(ToOwned::to_owned));
    follow_some(api, config, kind, is_kept, move |change| {
        for key in on(&context, scope.as_deref(), change) {
            context.queue.wake(key);
        }
    })
}

fn syncs(context: &Arc<Context>, scope: Option<&str>) -> impl Future<Output = ()> + Send + 'static {
    let config = match &context.shared.watch_label_selector {
        Some(selector) => Config::default().labels(selector),
        None => Config::default(),
    };
    each(
        context,
        scope,
        config,
        "GatewaySync",
        |context, scope, change: Change<DeserializeGuard<GatewaySync>>| {
            if let (Change::Applied(key, object), Some(shard)) = (&change, context.settings.shard)
                && !shard.holds(object.meta().uid.as_deref().unwrap_or_default())
            {
                return context.cache.on_foreign_sync(key.clone());
            }
            context.cache.on_sync(scope, change)
        },
    )
}

fn pods(context: &Arc<Context>, scope: Option<&str>) -> impl Future<Output = ()> + Send + 'static {
    let config = Config::default().labels(&format!("{}={TRUE}", Label::Agent)).fields(LIVING);
    each(context, scope, config, "Pod", |context, scope, change: Change<Pod>| {
        count(context, &change);
        context.cache.on_pod(scope, change)
    })
}

/// All other pods, metadata only: what concerns Stoker is looked up, the rest leaves no entry.
fn unlabelled(
    context: &Arc<Context>,
    scope: Option<&str>,
    lookups: Lookups,
) -> impl Future<Output = ()> + Send + 'static {
    let config = Config::default().labels(&format!("{}!={TRUE}", Label::Agent)).fields(LIVING);
    context.cache.expect_list();
    at_leisure(
        context,
        scope,
        config,
        "Pod without agent",
        |object: &PartialObjectMeta<FullPod>| pod::is_annotated(&object.metadata),
        move |context, scope, change: Change<PartialObjectMeta<FullPod>>| {
            count(context, &change);
            match change {
                Change::Applied(key, object) if pod::is_annotated(&object.metadata) => {
                    lookups.read(key);
                    Vec::new()
                }
                Change::Applied(key, _) | Change::Deleted(key) => {
                    lookups.gone(&key, || context.cache.on_unlabelled(&key, None))
                }
                Change::Listed(existing) => {
                    lookups.listed(&existing, || context.cache.keep_unlabelled(scope, &existing))
                }
            }
        },
    )
}

/// Has bootstrap count a pod.
fn count(context: &Context, change: &Change<impl Resource>) {
    let Some(bootstrap) = &context.bootstrap else { return };
    match change {
        Change::Applied(key, object) => bootstrap.on_pod(key, Some(object.meta())),
        Change::Deleted(key) => bootstrap.on_pod(key, None),
        // Bootstrap lists all pods itself, now and then.
        Change::Listed(_) => {}
    }
}

/// Selects what belongs to GatewaySyncs.
pub(crate) fn owned_selector() -> String {
    format!("{}={MANAGED_BY},{}", Label::ManagedBy, Label::CrName)
}

fn owned() -> Config {
    Config::default().labels(&owned_selector())
}

fn maps(context: &Arc<Context>, scope: Option<&str>) -> impl Future<Output = ()> + Send + 'static {
    each(context, scope, owned(), "ConfigMap", |context, scope, change: Change<ConfigMap>| {
        context.cache.on_map(scope, change)
    })
}

fn roles(context: &Arc<Context>, scope: Option<&str>) -> impl Future<Output = ()> + Send + 'static {
    each(context, scope, owned(), "Role", |context, scope, change: Change<Role>| {
        context.cache.on_role(scope, change)
    })
}

fn bindings(
    context: &Arc<Context>,
    scope: Option<&str>,
) -> impl Future<Output = ()> + Send + 'static {
    each(context, scope, owned(), "RoleBinding", |context, scope, change: Change<RoleBinding>| {
        context.cache.on_binding(scope, change)
    })
}

fn profiles(
    context: &Arc<Context>,
    scope: Option<&str>,
) -> impl Future<Output = ()> + Send + 'static {
    each(
        context,
        scope,
        Config::default(),
        "SyncProfile",
        |context, scope, change: Change<DeserializeGuard<SyncProfile>>| {
            context.cache.on_profile(scope, change)
        },
    )
}

/// Secrets, metadata only: their content is read when it is needed, and not kept.
fn secrets(
    context: &Arc<Context>,
    scope: Option<&str>,
) -> impl Future<Output = ()> + Send + 'static {
    let owner = Arc::clone(context);
    at_leisure(
        context,
        scope,
        Config::default(),
        "Secret",
        move |object| owner.cache.is_secret_named(&Key::of(object)),
        |context, scope, change: Change<PartialObjectMeta<Secret>>| match change {
            Change::Applied(key, object) => {
                context.cache.on_secret(&key, object.metadata.resource_version)
            }
            Change::Deleted(key) => context.cache.on_secret(&key, None),
            Change::Listed(existing) => context.cache.keep_secrets(scope, &existing),
        },
    )
}

/// The emergency stop: one ConfigMap in the operator's own namespace.
fn emergency(context: &Arc<Context>) -> impl Future<Output = ()> + Send + 'static {
    let config = Config::default().fields(&format!("metadata.name={PAUSE_CONFIG_MAP}"));
    let (sender, changes) = mpsc::unbounded_channel();
    let watched = each(
        context,
        Some(&context.shared.namespace),
        config,
        "stoker-pause",
        move |context, _, change: Change<ConfigMap>| {
            let reason = match change {
                Change::Applied(_, map) => stop_reason(map),
                Change::Deleted(_) => None,
                Change::Listed(existing) if existing.is_empty() => None,
                Change::Listed(_) => return Vec::new(),
            };
            context.announcer.stopped(reason.is_some());
            if context.cache.on_emergency(reason.clone()) {
                sender.send(reason).ok();
            }
            Vec::new()
        },
    );
    let told = tell(Arc::clone(context), changes);
    async move {
        futures::join!(watched, told);
    }
}

/// Tells agents to stop, then has every GatewaySync looked at.
async fn tell(context: Arc<Context>, mut changes: mpsc::UnboundedReceiver<Option<String>>) {
    while let Some(reason) = changes.recv().await {
        if let Some(reason) = reason {
            tokio::time::timeout(TOLD_WITHIN, stop_all(&context, &reason)).await.ok();
        }
        for key in context.cache.keys() {
            context.queue.wake_first(key);
        }
    }
}

fn stop_reason(map: ConfigMap) -> Option<String> {
    let mut data = map.data.unwrap_or_default();
    let is_paused = data.get("paused").is_some_and(|value| value.trim() == TRUE);
    is_paused.then(|| data.remove("reason").unwrap_or_default().trim().to_owned())
}
