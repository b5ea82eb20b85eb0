//! Reads pods without an agent that concern Stoker: each when the watch reports a change of it.
//!
//! # Promises
//! What was read counts only if the watch has reported nothing about the pod since. A pod that can't
//! be read is tried again every second, and no other waits for it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use kube::api::Api;
use stoker_api::chain::Chain;
use stoker_core::gateway;
use tokio::sync::mpsc;

use crate::controller::Context;
use crate::controller::cache::Key;
use crate::controller::pod::Pod;

/// How soon a pod is read again that could not be read.
const READ_AGAIN: Duration = Duration::from_secs(1);
/// No connection has a read timeout.
const READ_WITHIN: Duration = Duration::from_secs(10);
/// Pods that are read at the same time.
const AT_ONCE: usize = 8;

/// Who has pods read: the watch.
#[derive(Debug, Clone)]
pub(super) struct Lookups {
    wanted: Arc<Wanted>,
    messages: mpsc::UnboundedSender<Message>,
}

/// What the watch says.
#[derive(Debug)]
pub(super) enum Message {
    /// A pod has to be read.
    Read(Lookup),
    /// All pods of a list were asked for before this.
    Listed,
}

/// One pod that has to be read.
#[derive(Debug)]
pub(super) struct Lookup {
    key: Key,
    number: u64,
}

/// The pods that have to be read, each with the number of its last change.
#[derive(Debug, Default)]
struct Wanted(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last: u64,
    pods: HashMap<Key, u64>,
}

/// The first list of the watch.
enum First {
    /// It is on its way.
    Expected,
    /// These pods of it have to be read.
    Unread(HashSet<Key>),
    /// All of its pods were read.
    Done,
}

/// What reading a pod came to.
enum Outcome {
    /// This is the pod; none where it is gone, has ended, or can't be decoded.
    Read(Option<gateway::Pod>),
    /// The API server did not answer.
    Failed,
}

impl Lookups {
    /// Returns two ends: for the watch, and for [`follow`].
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<Message>) {
        let (messages, receiver) = mpsc::unbounded_channel();
        (Self { wanted: Arc::default(), messages }, receiver)
    }

    /// Has a pod read.
    pub(super) fn read(&self, key: Key) {
        // The receiver ends with the controller.
        self.messages.send(Message::Read(self.wanted.add(key))).ok();
    }

    /// Makes a change of the cache because a pod is gone: what is read of it does not count.
    pub(super) fn gone<T>(&self, key: &Key, change: impl FnOnce() -> T) -> T {
        let mut state = self.wanted.lock();
        state.pods.remove(key);
        change()
    }

    /// Makes a change of the cache because only these pods exist.
    pub(super) fn listed<T>(&self, existing: &HashSet<Key>, change: impl FnOnce() -> T) -> T {
        let mut state = self.wanted.lock();
        state.pods.retain(|key, _| existing.contains(key));
        self.messages.send(Message::Listed).ok();
        change()
    }
}

impl Wanted {
    fn add(&self, key: Key) -> Lookup {
        let mut state = self.lock();
        state.last += 1;
        let number = state.last;
        state.pods.insert(key.clone(), number);
        Lookup { key, number }
    }

    fn has(&self, lookup: &Lookup) -> bool {
        self.lock().has(lookup)
    }

    /// Makes a change of the cache with what was read, if that counts.
    fn settle<T>(&self, lookup: &Lookup, change: impl FnOnce() -> T) -> Option<T> {
        let mut state = self.lock();
        if !state.has(lookup) {
            return None;
        }
        state.pods.remove(&lookup.key);
        Some(change())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn has(&self, lookup: &Lookup) -> bool {
        self.pods.get(&lookup.key) == Some(&lookup.number)
    }
}

/// Reads pods. The list of pods counts as done when those in it have been read: a first pass that
/// does not know them would publish that they are gone.
pub(super) async fn follow(
    context: Arc<Context>,
    lookups: Lookups,
    mut messages: mpsc::UnboundedReceiver<Message>,
) {
    let wanted = &*lookups.wanted;
    let mut first = First::Expected;
    let mut running = FuturesUnordered::new();
    let mut pausing = FuturesUnordered::new();
    loop {
        let lookup = tokio::select! {
            message = messages.recv(), if running.len() < AT_ONCE => match message {
                None => return,
                Some(Message::Read(lookup)) => Some(lookup),
                Some(Message::Listed) => {
                    if let First::Expected = first {
                        first = First::Unread(wanted.lock().pods.keys().cloned().collect());
                    }
                    None
                }
            },
            Some(lookup) = pausing.next(), if running.len() < AT_ONCE => Some(lookup),
            Some((lookup, outcome)) = running.next() => {
                match outcome {
                    Outcome::Read(pod) => take_over(&context, wanted, &lookup, pod),
                    Outcome::Failed => pausing.push(pause(lookup)),
                }
                None
            }
        };
        if let Some(lookup) = lookup.filter(|lookup| wanted.has(lookup)) {
            running.push(read(&context, lookup));
        }
        if first.is_done_now(wanted) {
            context.cache.has_listed();
        }
    }
}

fn take_over(context: &Context, wanted: &Wanted, lookup: &Lookup, pod: Option<gateway::Pod>) {
    let concerned = wanted.settle(lookup, || context.cache.on_unlabelled(&lookup.key, pod));
    for key in concerned.into_iter().flatten() {
        context.queue.wake(key);
    }
}

async fn pause(lookup: Lookup) -> Lookup {
    tokio::time::sleep(READ_AGAIN).await;
    lookup
}

async fn read(context: &Context, lookup: Lookup) -> (Lookup, Outcome) {
    let Key { namespace, name } = &lookup.key;
    let api: Api<Pod> = Api::namespaced(context.shared.client.clone(), namespace);
    let outcome = match tokio::time::timeout(READ_WITHIN, api.get_opt(name)).await {
        Ok(Ok(found)) => Outcome::Read(found.map(gateway::Pod::from).filter(is_alive)),
        Ok(Err(error)) => {
            tracing::warn!(%namespace, %name, error = %Chain(&error), "failed to read a pod");
            match error {
                // That is this pod's problem, until it changes.
                kube::Error::SerdeError(_) => Outcome::Read(None),
                _ => Outcome::Failed,
            }
        }
        Err(_) => {
            tracing::warn!(%namespace, %name, "failed to read a pod in time");
            Outcome::Failed
        }
    };
    (lookup, outcome)
}

/// Says whether a pod may still run something: the watch does not report pods that have ended.
fn is_alive(pod: &gateway::Pod) -> bool {
    pod.is_running || !pod.is_ending
}

impl First {
    /// Says, once, that all pods of the first list were read.
    fn is_done_now(&mut self, wanted: &Wanted) -> bool {
        let Self::Unread(unread) = self else { return false };
        let state = wanted.lock();
        unread.retain(|key| state.pods.contains_key(key));
        let is_done = unread.is_empty();
        if is_done {
            *self = Self::Done;
        }
        is_done
    }
}

#[cfg(test)]
mod tests {
    use stoker_testkit::object::{gateway_pod, gateway_sync};

    use super::*;
    use crate::controller::cache::Cache;
    use crate::controller::pod::reduced;
    use crate::controller::watch::Change;

    fn key() -> Key {
        Key::new("line", "ignition-0")
    }

    // A pod that is deleted while it is read would be missed for ever.
    #[test]
    fn what_was_read_of_a_pod_does_not_count_once_the_watch_says_more() {
        let cache = Cache::default();
        let sync = gateway_sync("plant").namespace("line").build();
        let guard = kube::core::DeserializeGuard(Ok(sync));
        cache.on_sync(None, Change::Applied(Key::new("line", "plant"), guard));
        let mut pod = gateway_pod("ignition-0").cr("plant").build();
        pod.metadata.namespace = Some("line".to_owned());
        let (lookups, _messages) = Lookups::new();
        let wanted = &lookups.wanted;
        let settle = |lookup: &Lookup| {
            wanted.settle(lookup, || cache.on_unlabelled(&key(), reduced(&pod))).is_some()
        };
        let deleted = wanted.add(key());
        lookups.gone(&key(), || cache.on_unlabelled(&key(), None));
        assert!(!settle(&deleted));
        let unlisted = wanted.add(key());
        lookups.listed(&HashSet::new(), || cache.keep_unlabelled(None, &HashSet::new()));
        assert!(!settle(&unlisted));
        let (older, newer) = (wanted.add(key()), wanted.add(key()));
        assert!(!settle(&older));
        assert_eq!(cache.pods(&Key::new("line", "plant")).len(), 0);
        assert!(settle(&newer) && !settle(&newer));
        assert_eq!(cache.pods(&Key::new("line", "plant")).len(), 1);
    }

    #[test]
    fn a_first_list_is_done_once_when_each_of_its_pods_was_read_or_is_gone() {
        let (lookups, _messages) = Lookups::new();
        let wanted = &lookups.wanted;
        let other = Key::new("line", "ignition-1");
        let (one, _) = (wanted.add(key()), wanted.add(other.clone()));
        let mut first = First::Unread([key(), other.clone()].into());
        assert!(!first.is_done_now(wanted));
        wanted.settle(&one, || ());
        // A pod that came since does not count.
        wanted.add(Key::new("line", "ignition-2"));
        assert!(!first.is_done_now(wanted));
        lookups.gone(&other, || ());
        assert!(first.is_done_now(wanted));
        assert!(!first.is_done_now(wanted));
    }

    #[test]
    fn pods_that_have_ended_are_left_out() {
        let alive = |phase: &str| {
            let mut pod = gateway_pod("ignition-0").build();
            pod.status.get_or_insert_default().phase = Some(phase.to_owned());
            is_alive(&reduced(&pod).unwrap())
        };
        assert!(alive("Pending") && alive("Running"));
        assert!(!alive("Succeeded") && !alive("Failed"));
    }
}
