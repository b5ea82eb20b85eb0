//! One watch: lists, follows, lists again when it must, for ever.
//!
//! # Promises
//! A stream without an event or a bookmark for three minutes counts as dead. Reconnecting waits at
//! most 8 s, with jitter. After every list the receiver learns what exists, so that nothing that
//! went away meanwhile is kept.

use std::collections::HashSet;
use std::fmt::Debug;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt as _;
use kube::api::Api;
use kube::runtime::watcher::{self, Config, Event, watcher};
use kube::{Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use stoker_api::chain::Chain;
use stoker_core::backoff::Backoff;

use super::cache::Key;

/// A stream that says nothing for so many seconds counts as dead, unless a flag says otherwise.
pub(crate) const SILENT_SECONDS: u16 = 180;
/// The server ends a watch; so many seconds later the client does, as kube's watcher has it.
const MARGIN: u16 = 5;
const RECONNECT: Backoff =
    Backoff { first: Duration::from_millis(250), most: Duration::from_secs(8) };
/// Objects per request of a list.
const PAGE: u32 = 100;

/// What a watch says.
#[derive(Debug)]
pub(crate) enum Change<K> {
    /// An object is new or differs.
    Applied(Key, K),
    /// An object is gone.
    Deleted(Key),
    /// These objects exist, and no others that the receiver keeps.
    Listed(HashSet<Key>),
}

/// Watches for ever, and hands on what it sees.
pub(crate) async fn follow<K>(
    api: Api<K>,
    config: Config,
    kind: &'static str,
    on: impl FnMut(Change<K>),
) where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    follow_some(api, config, kind, |_| true, on).await;
}

/// Watches for ever, and hands on what it sees; [`Change::Listed`] has only those objects of which
/// `is_kept` says that the receiver keeps them, so that a list of all others takes no memory.
pub(crate) async fn follow_some<K>(
    api: Api<K>,
    config: Config,
    kind: &'static str,
    is_kept: impl Fn(&K) -> bool,
    mut on: impl FnMut(Change<K>),
) where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut config = config.page_size(PAGE);
    config.timeout.get_or_insert(u32::from(SILENT_SECONDS - MARGIN));
    let mut stream = pin!(watcher(api, config));
    let mut listing = HashSet::new();
    let mut failures = 0;
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => {
                failures = 0;
                hand_on(event, &mut listing, &is_kept, &mut on);
            }
            Err(error) => {
                failures += 1;
                report(kind, &error, failures);
                tokio::time::sleep(RECONNECT.delay(failures, fastrand::f64())).await;
            }
        }
    }
}

/// Has a stream count as dead that says nothing for so many seconds.
pub(crate) fn dead_after(config: Config, seconds: u16) -> Config {
    config.timeout(u32::from(seconds.saturating_sub(MARGIN).max(1)))
}

fn hand_on<K: Resource>(
    event: Event<K>,
    listing: &mut HashSet<Key>,
    is_kept: &impl Fn(&K) -> bool,
    on: &mut impl FnMut(Change<K>),
) {
    match event {
        Event::Init => listing.clear(),
        Event::InitApply(object) => {
            let key = Key::of(&object);
            if is_kept(&object) {
                listing.insert(key.clone());
            }
            on(Change::Applied(key, object));
        }
        Event::InitDone => on(Change::Listed(std::mem::take(listing))),
        Event::Apply(object) => on(Change::Applied(Key::of(&object), object)),
        Event::Delete(object) => on(Change::Deleted(Key::of(&object))),
    }
}

/// A watch that the server has forgotten (410) is an everyday event.
fn report(kind: &'static str, error: &watcher::Error, failures: u32) {
    let error = Chain(error);
    if failures > 1 {
        tracing::warn!(kind, %error, "a watch failed");
    } else {
        tracing::debug!(kind, %error, "a watch ended");
    }
}

impl<K> Change<K> {
    /// Returns the change that says what an object is; none where it is gone.
    pub(crate) fn of(key: Key, object: Option<K>) -> Self {
        match object {
            Some(object) => Self::Applied(key, object),
            None => Self::Deleted(key),
        }
    }

    /// Turns the object of a change into another.
    pub(crate) fn map<T>(self, map: impl FnOnce(K) -> T) -> Change<T> {
        match self {
            Self::Applied(key, object) => Change::Applied(key, map(object)),
            Self::Deleted(key) => Change::Deleted(key),
            Self::Listed(keys) => Change::Listed(keys),
        }
    }
}

impl Key {
    /// Returns the key of an object.
    pub(crate) fn of(object: &impl Resource) -> Self {
        Self::new(&object.namespace().unwrap_or_default(), &object.name_any())
    }
}
