//! Restarts pods that lack something that only a restart brings, by the Eviction API only.
//!
//! A [`Watchdog`] finds such pods: [`Injection`] those without an agent or with an old one, pod
//! bootstrap those without its mark. `stoker_core::repair` decides. This part reads what the
//! decision needs, writes the record before it evicts, and leaves the rest to the workload that
//! owns the pod. A `PodDisruptionBudget` has the last word: the API server refuses, and the pod is
//! looked at again.
//!
//! While no pod needs a restart, nothing is read.

mod examine;
mod injection;
mod record;
mod webhook;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, PostParams};
use kube::client::Client;
use serde_json::{Value, json};
use stoker_api::chain::Chain;
use stoker_core::repair::{Cause, Leave, Outlook, Verdict, Wait, Workload, hold};
use tokio::time::Instant;

use super::{Context, Key};
use examine::{Examined, examine};
pub(crate) use injection::{Arguments, Injected, Injection, Settings};
pub(crate) use webhook::Webhook;

/// How often the cache is searched for pods that need a restart.
const INTERVAL: Duration = Duration::from_secs(5);
/// How soon a pod is looked at again that has to wait.
const WAIT: Duration = Duration::from_secs(10);
/// How soon a pod is looked at again for which people have to do something.
const LEAVE: Duration = Duration::from_mins(10);
/// Pods that are looked at in one round, so that a long outage costs the API server little.
const LOOKS: usize = 20;
const WITHIN: Duration = Duration::from_secs(15);

/// Finds pods that need a restart, and knows what a restart would bring them.
pub(crate) trait Watchdog: Sync {
    /// What else is known about a pod that needs a restart.
    type Subject: Send + Sync;

    /// Returns the ConfigMap in the operator's namespace that remembers evictions.
    fn record(&self) -> &'static str;

    /// Returns the least time between two evictions.
    fn interval(&self) -> Duration;

    /// Returns the pods that are to be restarted.
    fn needs(&self) -> Vec<Need<Self::Subject>>;

    /// Says whether a pod that was just read needs the restart.
    fn is_meant(&self, need: &Need<Self::Subject>, pod: &Pod) -> bool;

    /// Finds out what the pod's successor would get.
    fn look_ahead(
        &self,
        need: &Need<Self::Subject>,
        workload: &Workload,
    ) -> impl Future<Output = kube::Result<Outlook>> + Send;

    /// Counts an eviction, and writes an event about it.
    fn announce(&self, need: &Need<Self::Subject>, uid: &str);
}

/// A pod that needs a restart.
#[derive(Debug, Clone)]
pub(crate) struct Need<S> {
    pub(crate) pod: Key,
    pub(crate) cause: Cause,
    pub(crate) subject: S,
}

/// What was found about a pod, and when it is looked at again.
struct Looked {
    found: Found,
    again: Instant,
}

/// What was found about a pod, or done with it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Found {
    Evicted {
        uid: String,
    },
    /// It was created after an eviction for the same cause.
    Tried,
    /// It is left as it is for now, for this reason.
    Left(String),
}

/// Whether a pod is evicted, or the API server only says whether it would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Run {
    Dry,
    Live,
}

/// What became of an eviction.
enum Evicted {
    Done,
    /// A `PodDisruptionBudget` does not allow it now.
    Refused,
    /// The pod is another one by now, or gone.
    Gone,
}

/// What is known about the pods of one watchdog.
#[derive(Default)]
struct Memory {
    looked: HashMap<Key, Looked>,
    /// Nothing is evicted before this time, because a restart did not help.
    held_until: Option<Instant>,
}

/// Repairs the pods that a watchdog finds, while this instance leads.
pub(crate) async fn follow(context: &Context, watchdog: &impl Watchdog) {
    let mut memory = Memory::default();
    let mut pause = INTERVAL;
    loop {
        tokio::time::sleep(pause).await;
        pause = INTERVAL;
        let needs = watchdog.needs();
        let keys: HashSet<&Key> = needs.iter().map(|need| &need.pod).collect();
        memory.looked.retain(|key, _| keys.contains(key));
        // While everything is stopped, nothing is restarted.
        if context.cache.emergency().is_some() {
            continue;
        }
        if Box::pin(repair(context, watchdog, &needs, &mut memory)).await {
            pause = watchdog.interval().min(INTERVAL);
        }
    }
}

/// Looks at pods until one was evicted, and says whether one was.
async fn repair<W: Watchdog>(
    context: &Context,
    watchdog: &W,
    needs: &[Need<W::Subject>],
    memory: &mut Memory,
) -> bool {
    for need in memory.due(needs, Instant::now()) {
        let is_held = memory.held_until.is_some_and(|until| Instant::now() < until);
        let attended = Box::pin(attend(context, watchdog, need, is_held));
        let (found, pause) = match tokio::time::timeout(WITHIN, attended).await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => (Found::Left(Chain(&error).to_string()), WAIT),
            Err(_) => (Found::Left("the API server did not answer in time".to_owned()), WAIT),
        };
        if memory.keep(need, &found, pause)
            && let Found::Evicted { uid } = &found
        {
            watchdog.announce(need, uid);
            return true;
        }
    }
    false
}

/// Examines one pod, and evicts it if that is the verdict.
async fn attend<W: Watchdog>(
    context: &Context,
    watchdog: &W,
    need: &Need<W::Subject>,
    is_held: bool,
) -> kube::Result<(Found, Duration)> {
    let left = |why: &str| Found::Left(why.to_owned());
    let Some(examined) = examine(context, watchdog, need).await? else {
        return Ok((left("the pod is gone, or does not need it any more"), WAIT));
    };
    let Examined { pod, workload, mut record, verdict } = examined;
    let workload = match (&verdict, &workload) {
        (Verdict::Evict, Some(workload)) => workload,
        (Verdict::Leave(Leave::Tried), _) => return Ok((Found::Tried, LEAVE)),
        (Verdict::Leave(_), _) => return Ok((left(&verdict.to_string()), LEAVE)),
        (Verdict::Wait(Wait::Rate), _) => {
            return Ok((left(&verdict.to_string()), watchdog.interval()));
        }
        (Verdict::Wait(_) | Verdict::Evict, _) => return Ok((left(&verdict.to_string()), WAIT)),
    };
    if is_held {
        return Ok((left("an earlier restart did not help: evictions pause"), WAIT));
    }
    if context.check_leading().is_err() {
        return Ok((left("this instance does not lead"), WAIT));
    }
    let client = &context.shared.client;
    let uid = pod.metadata.uid.clone().unwrap_or_default();
    // What is refused must not be recorded: it would take the turn of other pods.
    let mut evicted = evict(client, &need.pod, &uid, Run::Dry).await?;
    if matches!(evicted, Evicted::Done) {
        record.add(context, &need.cause, &pod, workload).await?;
        evicted = evict(client, &need.pod, &uid, Run::Live).await?;
    }
    Ok(match evicted {
        Evicted::Done => (Found::Evicted { uid }, WAIT),
        Evicted::Refused => (left("a PodDisruptionBudget does not allow it now"), WAIT),
        Evicted::Gone => (left("the pod is gone"), WAIT),
    })
}

/// Asks for the eviction of exactly this pod.
async fn evict(client: &Client, pod: &Key, uid: &str, run: Run) -> kube::Result<Evicted> {
    let Key { namespace, name } = pod;
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    // `Api::evict` of the library loses the precondition.
    let body = json!({
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": { "name": name, "namespace": namespace },
        "deleteOptions": { "preconditions": { "uid": uid } },
    });
    let parameters = PostParams { dry_run: run == Run::Dry, ..PostParams::default() };
    let created: kube::Result<Value> =
        api.create_subresource("eviction", name, &parameters, &body).await;
    match created {
        Ok(_) => Ok(Evicted::Done),
        Err(kube::Error::Api(status)) if status.code == 429 => Ok(Evicted::Refused),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(Evicted::Gone),
        Err(error) => Err(error),
    }
}

impl Memory {
    /// Returns the pods that are looked at now, those first that have waited the longest.
    fn due<'a, S>(&self, needs: &'a [Need<S>], now: Instant) -> Vec<&'a Need<S>> {
        let is_due =
            |need: &&Need<S>| self.looked.get(&need.pod).is_none_or(|looked| looked.again <= now);
        let mut due: Vec<_> = needs.iter().filter(is_due).collect();
        due.sort_by_key(|need| self.looked.get(&need.pod).map(|looked| looked.again));
        due.truncate(LOOKS);
        due
    }

    /// Keeps what was found about a pod and logs it where it is new. Says whether it is.
    fn keep<S>(&mut self, need: &Need<S>, found: &Found, pause: Duration) -> bool {
        let now = Instant::now();
        let next = Looked { found: found.clone(), again: now + pause };
        let before = self.looked.insert(need.pod.clone(), next);
        if before.is_some_and(|before| before.found == *found) {
            return false;
        }
        if *found == Found::Tried {
            let tried = self.looked.values().filter(|it| it.found == Found::Tried).count();
            self.held_until = Some(now + hold(tried));
        }
        let (Key { namespace, name }, cause) = (&need.pod, need.cause.word);
        let result = match found {
            Found::Evicted { .. } => "evicted".to_owned(),
            Found::Tried => Verdict::Leave(Leave::Tried).to_string(),
            Found::Left(why) => why.clone(),
        };
        tracing::info!(%namespace, name, cause, result, "a pod needs a restart");
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A PodDisruptionBudget may refuse many pods for ever.
    #[test]
    fn pods_that_have_to_wait_do_not_keep_others_from_being_looked_at() {
        let need = |number| Need {
            pod: Key::new("plant", &format!("ignition-{number}")),
            cause: Cause::MISSING_AGENT,
            subject: (),
        };
        let needs: Vec<Need<()>> = (0..5 * LOOKS / 2).map(need).collect();
        let mut memory = Memory::default();
        let mut now = Instant::now();
        for _ in 0..3 {
            for need in memory.due(&needs, now) {
                let looked = Looked { found: Found::Left(String::new()), again: now + WAIT };
                memory.looked.insert(need.pod.clone(), looked);
            }
            now += INTERVAL;
        }
        assert_eq!(memory.looked.len(), needs.len());
    }
}
