//! Counts pods by their mark, from the pod streams of the controller.
//!
//! A change of the policy, of the certificates or of a namespace's annotations changes how many
//! pods stand; then they are listed again, metadata only, as every ten minutes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, ListParams};
use stoker_api::chain::Chain;
use stoker_core::bootstrap::{self, Standing, judge};
use tokio::sync::Notify;

use super::Bootstrap;
use crate::controller::Key;

/// How often every pod is counted when nothing happens.
const FULL_PASS: Duration = Duration::from_mins(10);
/// How soon a failed list is tried again.
const RETRY: Duration = Duration::from_secs(2);
const PAGE: u32 = 500;
/// Pods that have ended do not count.
const LIVING: &str = "status.phase!=Succeeded,status.phase!=Failed";

/// How every pod stands.
#[derive(Default)]
pub(super) struct Census {
    state: Mutex<State>,
    wanted: Notify,
}

#[derive(Default)]
struct State {
    pods: HashMap<Box<str>, HashMap<Box<str>, Standing>>,
    /// Pods of which the streams told while a list was under way.
    touched: Option<HashSet<Key>>,
    stale_lists: BTreeSet<String>,
    is_all_stale: bool,
    is_counted: bool,
}

impl Census {
    /// Has the pods of a namespace, or all, counted again.
    pub(super) fn recount(&self, namespace: Option<&str>) {
        let mut state = self.lock();
        match namespace {
            Some(namespace) => drop(state.stale_lists.insert(namespace.to_owned())),
            None => state.is_all_stale = true,
        }
        drop(state);
        self.wanted.notify_one();
    }

    /// Forgets the pods of a namespace that is gone.
    pub(super) fn gone(&self, namespace: &str) {
        self.lock().pods.remove(namespace);
    }

    /// Returns how many pods have which standing; none before they were counted.
    pub(super) fn counts(&self) -> Option<BTreeMap<Standing, usize>> {
        let state = self.lock();
        let mut counts = BTreeMap::new();
        for standing in state.pods.values().flat_map(HashMap::values) {
            *counts.entry(*standing).or_default() += 1;
        }
        state.is_counted.then_some(counts)
    }

    /// Returns the pods whose standing is meant.
    pub(super) fn find(&self, is_meant: impl Fn(Standing) -> bool) -> Vec<(Key, Standing)> {
        let state = self.lock();
        let spaces = state.pods.iter();
        let all =
            spaces.flat_map(|(space, pods)| pods.iter().map(move |(pod, it)| (space, pod, *it)));
        let meant = all.filter(|(_, _, standing)| is_meant(*standing));
        meant.map(|(space, pod, standing)| (Key::new(space, pod), standing)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn put(&mut self, key: &Key, standing: Option<Standing>) -> bool {
        let pods = self.pods.entry(key.namespace.as_str().into()).or_default();
        match standing {
            Some(standing) => pods.insert(key.name.as_str().into(), standing) != Some(standing),
            None => pods.remove(key.name.as_str()).is_some(),
        }
    }
}

impl Bootstrap {
    /// Takes a pod that a stream of the controller told of; none where it is gone.
    pub(crate) fn on_pod(&self, key: &Key, metadata: Option<&ObjectMeta>) {
        let standing = metadata.and_then(|metadata| self.standing(metadata));
        let mut state = self.0.census.lock();
        if let Some(touched) = &mut state.touched {
            touched.insert(key.clone());
        }
        if state.put(key, standing) {
            drop(state);
            self.0.view.changed();
        }
    }

    /// Says how a pod stands; none where bootstrap is not for its namespace, or it ends.
    pub(super) fn standing(&self, metadata: &ObjectMeta) -> Option<Standing> {
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        if metadata.deletion_timestamp.is_some() || !self.0.scope.serves(namespace) {
            return None;
        }
        let in_force = self.0.view.in_force()?;
        let space = self.0.view.namespace(namespace);
        let none = BTreeMap::new();
        let space = bootstrap::Namespace {
            name: namespace,
            annotations: space.as_ref().map_or(&none, |space| &space.annotations),
            certificates: None,
        };
        let annotations = metadata.annotations.as_ref().unwrap_or(&none);
        let labels = metadata.labels.as_ref().unwrap_or(&none);
        let mark = self.mark().unwrap_or_default();
        Some(judge(annotations, labels, space, &in_force.policy, &mark))
    }

    /// Returns the mark that pods get now.
    pub(super) fn mark(&self) -> Option<String> {
        let in_force = self.0.view.in_force()?;
        let source = self.0.sources.get(bootstrap::Copied::CaBundle);
        let hash = source.content().map(|content| content.origin.hash.clone());
        Some(in_force.policy.mark(hash.as_deref()))
    }
}

/// Counts again whenever that is wanted, and every ten minutes.
pub(super) async fn follow(bootstrap: Bootstrap) {
    bootstrap.0.census.recount(None);
    loop {
        let wanted = bootstrap.0.census.wanted.notified();
        if tokio::time::timeout(FULL_PASS, wanted).await.is_err() {
            bootstrap.0.census.recount(None);
        }
        while let Some(due) = next(&bootstrap) {
            if let Err(error) = count(&bootstrap, due.namespace()).await {
                tracing::warn!(error = %Chain(&error), "failed to list pods");
                bootstrap.0.census.lock().touched = None;
                bootstrap.0.census.recount(due.namespace());
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

/// Which pods are counted.
enum Due {
    All,
    Namespace(String),
}

impl Due {
    fn namespace(&self) -> Option<&str> {
        match self {
            Self::All => None,
            Self::Namespace(name) => Some(name),
        }
    }
}

/// Returns what is to be counted next.
fn next(bootstrap: &Bootstrap) -> Option<Due> {
    let mut state = bootstrap.0.census.lock();
    if std::mem::take(&mut state.is_all_stale) {
        state.stale_lists.clear();
        return Some(Due::All);
    }
    state.stale_lists.pop_first().map(Due::Namespace)
}

async fn count(bootstrap: &Bootstrap, scope: Option<&str>) -> kube::Result<()> {
    let client = bootstrap.0.client.clone();
    let api: Api<Pod> = match scope {
        Some(namespace) => Api::namespaced(client, namespace),
        None => Api::all(client),
    };
    bootstrap.0.census.lock().touched = Some(HashSet::new());
    let mut found = HashSet::new();
    let mut parameters = ListParams::default().fields(LIVING).limit(PAGE);
    loop {
        let page = api.list_metadata(&parameters).await?;
        let mut state = bootstrap.0.census.lock();
        for pod in &page.items {
            let key = Key::of(pod);
            if state.touched.as_ref().is_some_and(|touched| !touched.contains(&key)) {
                let standing = bootstrap.standing(&pod.metadata);
                state.put(&key, standing);
            }
            found.insert(key);
        }
        drop(state);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => break,
        }
    }
    let mut state = bootstrap.0.census.lock();
    let touched = state.touched.take().unwrap_or_default();
    for (namespace, pods) in &mut state.pods {
        if scope.is_none_or(|scope| scope == &**namespace) {
            pods.retain(|name, _| {
                let key = Key::new(namespace, name);
                found.contains(&key) || touched.contains(&key)
            });
        }
    }
    state.is_counted = true;
    drop(state);
    bootstrap.0.view.changed();
    Ok(())
}
