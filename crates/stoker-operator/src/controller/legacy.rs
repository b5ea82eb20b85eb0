//! What the Go operator left behind: reports of its agents, and the rights that it gave them.
//!
//! Its objects carry none of our labels. The reports of one GatewaySync are watched by their name,
//! and only while one of its pods may run such an agent; RoleBindings are listed once, when this
//! instance begins to lead.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{Api, DeleteParams, ListParams};
use kube::runtime::watcher::Config;
use stoker_api::chain::Chain;
use stoker_api::names::{self, Label, MANAGED_BY};
use stoker_core::gateway::{LegacyReports, Pod, read_legacy};
use tokio::task::AbortHandle;

use super::apply::is_not_found;
use super::cache::Key;
use super::watch::{Change, follow};
use super::{Context, Error, fleet};

const LIST_AGAIN: Duration = Duration::from_secs(8);
const PAGE: u32 = 500;

/// What the Go operator left behind, as far as it is of interest.
#[derive(Debug, Clone, Default)]
pub(crate) struct Legacy(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    followed: HashMap<Key, Followed>,
    /// GatewaySyncs whose agents have a RoleBinding of the Go operator.
    bound: HashSet<Key>,
}

#[derive(Debug)]
struct Followed {
    reports: LegacyReports,
    watch: AbortHandle,
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

impl Legacy {
    /// Forgets one GatewaySync.
    pub(crate) fn forget(&self, key: &Key) {
        self.lock().followed.remove(key);
    }

    fn reports(&self, key: &Key) -> Option<LegacyReports> {
        self.lock().followed.get(key).map(|followed| followed.reports.clone())
    }

    /// Takes note of reports, and says whether they are new.
    fn update(&self, key: &Key, reports: LegacyReports) -> bool {
        let mut state = self.lock();
        let Some(followed) = state.followed.get_mut(key) else { return false };
        let is_new = followed.reports != reports;
        followed.reports = reports;
        is_new
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns what agents of the Go operator report, and keeps watching it while there may be any.
pub(crate) async fn reports(
    context: &Context,
    key: &Key,
    pods: &[Pod],
) -> Result<LegacyReports, Error> {
    if !pods.iter().any(Pod::may_have_legacy_agent) {
        context.legacy.forget(key);
        return Ok(LegacyReports::new());
    }
    if let Some(known) = context.legacy.reports(key) {
        return Ok(known);
    }
    let name = names::legacy_status_config_map(&key.name);
    let api: Api<ConfigMap> = Api::namespaced(context.shared.client.clone(), &key.namespace);
    // Read before the watch begins: a pass without reports would say that agents have none.
    let found = api
        .get_opt(&name)
        .await
        .map_err(|source| Error::LegacyReports { key: key.clone(), source: Box::new(source) })?;
    let reports = found.map(read).unwrap_or_default();
    let config = Config::default().fields(&format!("metadata.name={name}"));
    let (legacy, queue, own) = (context.legacy.clone(), Arc::clone(&context.queue), key.clone());
    let watch = tokio::spawn(follow(api, config, "ConfigMap of Go agents", move |change| {
        let now = match change {
            Change::Applied(_, map) => read(map),
            Change::Listed(existing) if !existing.is_empty() => return,
            Change::Listed(_) | Change::Deleted(_) => LegacyReports::new(),
        };
        if legacy.update(&own, now) {
            queue.wake(own.clone());
        }
    }));
    let followed = Followed { reports: reports.clone(), watch: watch.abort_handle() };
    context.legacy.lock().followed.insert(key.clone(), followed);
    Ok(reports)
}

/// A status object of ours can have the same name: `plant-0` had one like the first of `plant`.
fn read(map: ConfigMap) -> LegacyReports {
    let labels = map.metadata.labels.unwrap_or_default();
    if labels.get(Label::ManagedBy.as_str()).is_some_and(|by| by == MANAGED_BY) {
        return BTreeMap::new();
    }
    read_legacy(&map.data.unwrap_or_default())
}

/// Finds the RoleBindings of the Go operator, and has their GatewaySyncs looked at.
pub(crate) async fn find_bindings(context: Arc<Context>) {
    for scope in fleet::scopes(&context) {
        let api = fleet::api::<RoleBinding>(&context.shared.client, scope.as_deref());
        let mut parameters = first_page();
        loop {
            let page = match api.list_metadata(&parameters).await {
                Ok(page) => page,
                Err(error) => {
                    tracing::warn!(error = %Chain(&error), "failed to list RoleBindings");
                    tokio::time::sleep(LIST_AGAIN).await;
                    parameters = page_after(&error, parameters);
                    continue;
                }
            };
            let prefix = names::legacy_agent_role_binding("");
            for found in page.items {
                let binding = Key::of(&found);
                let Some(name) = binding.name.strip_prefix(&prefix) else { continue };
                let key = Key::new(&binding.namespace, name);
                context.legacy.lock().bound.insert(key.clone());
                context.queue.wake(key);
            }
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => parameters = parameters.continue_token(&token),
                None => break,
            }
        }
    }
}

fn first_page() -> ListParams {
    ListParams::default().limit(PAGE)
}

/// Returns which page to ask for after one could not be had.
fn page_after(error: &kube::Error, failed: ListParams) -> ListParams {
    match error {
        // The server has forgotten the list that this page continues.
        kube::Error::Api(status) if status.code == 410 => first_page(),
        _ => failed,
    }
}

/// Deletes the RoleBindings of the Go operator, as soon as no pod of the namespace runs its agent.
pub(crate) async fn withdraw(context: &Context, key: &Key) {
    let bound: Vec<Key> = {
        let state = context.legacy.lock();
        state.bound.iter().filter(|bound| bound.namespace == key.namespace).cloned().collect()
    };
    let exists = |bound: &Key| context.cache.sync(bound).is_some();
    let bound: Vec<Key> = bound.into_iter().filter(exists).collect();
    if bound.is_empty() || context.cache.may_have_legacy_agents(&key.namespace) {
        return;
    }
    let api: Api<RoleBinding> = Api::namespaced(context.shared.client.clone(), &key.namespace);
    for bound in bound {
        if context.check_leading().is_err() {
            return;
        }
        let name = names::legacy_agent_role_binding(&bound.name);
        let namespace = &key.namespace;
        match api.delete(&name, &DeleteParams::default()).await {
            Ok(_) => tracing::info!(%namespace, name, "deleted a RoleBinding of the Go operator"),
            Err(error) if is_not_found(&error) => {}
            Err(error) => {
                let error = Chain(&error);
                tracing::warn!(%namespace, name, %error, "failed to delete a RoleBinding");
                continue;
            }
        }
        context.legacy.lock().bound.remove(&bound);
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn a_list_that_the_server_has_forgotten_begins_anew() {
        let failed = |code| kube::Error::Api(Box::new(Status::failure("", "").with_code(code)));
        let second = first_page().continue_token("second");
        let token = |code| page_after(&failed(code), second.clone()).continue_token;
        assert_eq!(token(500).as_deref(), Some("second"));
        assert_eq!(token(410), None);
    }
}
