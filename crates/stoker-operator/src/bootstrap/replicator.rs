//! Copies the pull secret and the certificates to the namespaces.
//!
//! Level-triggered: a namespace is looked at when something changed, and every ten minutes. A copy
//! whose version is the one that was last verified costs no request.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::core::Status;
use stoker_api::chain::Chain;
use stoker_api::condition::EventReason;
use stoker_core::backoff::Backoff;
use stoker_core::bootstrap::{self, Copied, Seen, Source, Step, step};
use tokio::time::Instant;

use super::Bootstrap;
use super::object::{Content, Copies, Found};
use super::view::Place;
use crate::controller::queue::Queue;
use crate::controller::{Key, Next};

/// How soon a failed namespace is tried again.
const RETRY: Backoff = Backoff { first: Duration::from_millis(500), most: Duration::from_secs(30) };
/// How soon a copy is looked at again that a pod still uses, or that another object keeps out.
const LATER: Duration = Duration::from_secs(20);
/// How often every namespace is looked at when nothing happens.
const FULL_PASS: Duration = Duration::from_mins(10);
/// How long one pass may take.
const WITHIN: Duration = Duration::from_secs(20);

/// What the replicator remembers.
#[derive(Default)]
pub(super) struct Replicator {
    queue: Queue,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    /// The version and the content of copies that were as they should be.
    verified: HashMap<(String, Place), (String, u64)>,
    due: HashMap<String, Instant>,
    failures: BTreeMap<String, (u32, String)>,
    conflicts: BTreeSet<(String, Copied)>,
}

/// What a pass came to, for one copy.
enum Done {
    Rest,
    /// It is looked at again after this time.
    Again(Duration),
}

impl Replicator {
    /// Has a namespace looked at.
    pub(super) fn wake(&self, namespace: &str) {
        self.lock().due.entry(namespace.to_owned()).or_insert_with(Instant::now);
        self.queue.wake(Key::new("", namespace));
    }

    /// Forgets what an earlier term knew.
    pub(super) fn forget(&self) {
        *self.lock() = Memory::default();
        self.queue.clear();
    }

    /// Forgets a namespace that is gone.
    pub(super) fn gone(&self, namespace: &str) {
        let mut memory = self.lock();
        memory.verified.retain(|(name, _), _| name != namespace);
        memory.due.remove(namespace);
        memory.failures.remove(namespace);
        memory.conflicts.retain(|(name, _)| name != namespace);
    }

    /// Returns the copies that other objects keep out.
    pub(super) fn conflicts(&self) -> Vec<(String, Copied)> {
        self.lock().conflicts.iter().cloned().collect()
    }

    /// Returns the namespaces that failed, and why.
    pub(super) fn failures(&self) -> Vec<(String, String)> {
        let memory = self.lock();
        memory.failures.iter().map(|(name, (_, error))| (name.clone(), error.clone())).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Works on one namespace after the other.
pub(super) async fn work(bootstrap: Bootstrap) {
    loop {
        let replicator = &bootstrap.0.replicator;
        let key = replicator.queue.next().await;
        let passed = tokio::time::timeout(WITHIN, pass(&bootstrap, &key.name)).await;
        let next = match passed {
            Ok(Ok(next)) => {
                replicator.lock().failures.remove(&key.name);
                replicator.lock().due.remove(&key.name);
                next
            }
            Ok(Err(error)) => fail(&bootstrap, &key.name, Chain(&error).to_string()),
            Err(_) => fail(&bootstrap, &key.name, "the API server did not answer".to_owned()),
        };
        replicator.queue.done(&key, next);
        bootstrap.0.view.changed();
    }
}

fn fail(bootstrap: &Bootstrap, namespace: &str, error: String) -> Next {
    tracing::warn!(namespace, error, "failed to copy to a namespace");
    bootstrap.0.metrics.copied("failed");
    let mut memory = bootstrap.0.replicator.lock();
    let failure = memory.failures.entry(namespace.to_owned()).or_default();
    failure.0 += 1;
    failure.1 = error;
    Next::After(RETRY.delay(failure.0, fastrand::f64()))
}

/// One pass over one namespace.
async fn pass(bootstrap: &Bootstrap, name: &str) -> kube::Result<Next> {
    let inner = &bootstrap.0;
    let Some(space) = inner.view.namespace(name) else { return Ok(Next::Rest) };
    // Whatever is in a namespace that ends goes with it.
    if space.is_ending || !inner.shard.is_none_or(|shard| shard.holds(&space.uid)) {
        return Ok(Next::Rest);
    }
    let held = inner.view.copies(name);
    let in_force = inner.view.in_force();
    let is_served = inner.scope.serves(name);
    let space = bootstrap::Namespace { name, annotations: &space.annotations, certificates: None };
    let mut next = Next::After(FULL_PASS);
    for copied in Copied::ALL {
        let source = inner.sources.get(copied);
        let is_wanted = is_served
            && in_force.as_ref().is_some_and(|it| copied.is_wanted(space, &it.policy))
            && !inner.sources.is_in(copied, name);
        let copies = Copies::new(&inner.client, copied, name);
        let job = Job { bootstrap, namespace: name, copied, copies };
        let wanted = source.content().map(|content| content.name.as_str());
        // Those of an earlier policy, which named another pull secret.
        let others = held.keys().filter(|(kind, it)| *kind == copied && Some(&**it) != wanted);
        for (_, other) in others {
            let source = if wanted.is_some() { &Source::Unwanted } else { &source };
            let seen = held.get(&(copied, other.clone()));
            let step = step(seen, &origin(source), is_wanted, None);
            next = next.sooner(job.take(step, other, None).await?.next());
        }
        if let Source::Present(content) = &source {
            let place = (copied, content.name.clone());
            let seen = held.get(&place);
            let verified = inner.replicator.verified(name, &place, content);
            let step = step(seen, &origin(&source), is_wanted, verified.as_deref());
            next = next.sooner(job.take(step, &content.name, Some(content)).await?.next());
        }
    }
    Ok(next)
}

fn origin<C: std::ops::Deref<Target = Content>>(source: &Source<C>) -> Source<&bootstrap::Origin> {
    match source {
        Source::Unknown => Source::Unknown,
        Source::Unwanted => Source::Unwanted,
        Source::Missing(why) => Source::Missing(why.clone()),
        Source::Unusable(why) => Source::Unusable(why.clone()),
        Source::Present(content) => Source::Present(&content.origin),
    }
}

impl Replicator {
    /// Returns the version of a copy that had this content.
    fn verified(&self, namespace: &str, place: &Place, content: &Content) -> Option<String> {
        let memory = self.lock();
        let (version, digest) = memory.verified.get(&(namespace.to_owned(), place.clone()))?;
        (*digest == digest_of(content)).then(|| version.clone())
    }
}

/// Tells contents apart within this process.
fn digest_of(content: &Content) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    content.data.hash(&mut hasher);
    content.kind.hash(&mut hasher);
    hasher.finish()
}

/// The work on one kind of copy in one namespace.
struct Job<'a> {
    bootstrap: &'a Bootstrap,
    namespace: &'a str,
    copied: Copied,
    copies: Copies<'a>,
}

impl Job<'_> {
    async fn take(&self, step: Step, name: &str, content: Option<&Content>) -> kube::Result<Done> {
        if step != Step::Create {
            self.settle();
        }
        // Another instance may lead by now.
        if step == Step::Rest || !self.bootstrap.0.leadership.is_held() {
            return Ok(Done::Rest);
        }
        let taken = match (step, content) {
            (Step::Remove, _) => self.remove(name).await,
            (Step::Create | Step::Verify | Step::Write, Some(content)) => {
                self.bring(step, content).await
            }
            _ => Ok(Done::Rest),
        };
        match taken {
            Err(kube::Error::Api(status)) if is_ending(&status) => Ok(Done::Rest),
            // It changed under our hands: its next version wakes us, or this does.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(Done::Again(RETRY.first)),
            taken => taken,
        }
    }

    /// Brings a copy to the content that it should have.
    async fn bring(&self, step: Step, content: &Content) -> kube::Result<Done> {
        let place = (self.copied, content.name.clone());
        let known = self.bootstrap.0.view.copies(self.namespace).remove(&place);
        let version = match (step, known) {
            (Step::Write, Some(known)) => Some(known.version),
            _ => match self.copies.find(&content.name).await? {
                Found::Nothing => None,
                Found::Foreign => return Ok(self.conflict()),
                Found::Copy(copy) if self.copies.is_current(&copy, content) => {
                    self.verified(content, super::view::seen(&copy.metadata));
                    return Ok(Done::Rest);
                }
                Found::Copy(copy) => copy.metadata.resource_version.clone(),
            },
        };
        match self.copies.write(content, version.as_deref()).await {
            Ok(seen) => {
                self.settle();
                self.verified(content, seen);
                self.bootstrap.0.metrics.copied("written");
                let due = self.bootstrap.0.replicator.lock().due.get(self.namespace).copied();
                if let Some(due) = due {
                    self.bootstrap.0.metrics.lagged(due.elapsed());
                }
                Ok(Done::Rest)
            }
            // Immutable, or of another type: such a copy can only be made again.
            Err(kube::Error::Api(status)) if status.code == 422 && version.is_some() => {
                if let Found::Copy(copy) = self.copies.find(&content.name).await? {
                    self.copies.remove(&copy).await?;
                }
                Ok(Done::Again(Duration::ZERO))
            }
            Err(error) => Err(error),
        }
    }

    /// Removes a copy that no pod refers to.
    async fn remove(&self, name: &str) -> kube::Result<Done> {
        if self.copies.is_used(name).await? {
            return Ok(Done::Again(LATER));
        }
        if let Found::Copy(copy) = self.copies.find(name).await? {
            self.copies.remove(&copy).await?;
            self.bootstrap.0.metrics.copied("removed");
            let (namespace, copied) = (self.namespace, self.copied.as_str());
            tracing::info!(namespace, name, copied, "removed a copy");
        }
        Ok(Done::Rest)
    }

    fn verified(&self, content: &Content, seen: Seen) {
        let place = (self.copied, content.name.clone());
        let entry = (seen.version.clone(), digest_of(content));
        let key = (self.namespace.to_owned(), place.clone());
        self.bootstrap.0.replicator.lock().verified.insert(key, entry);
        self.bootstrap.0.view.wrote(self.namespace, place, Some(seen));
    }

    fn conflict(&self) -> Done {
        let key = (self.namespace.to_owned(), self.copied);
        if self.bootstrap.0.replicator.lock().conflicts.insert(key) {
            let (namespace, copied) = (self.namespace, self.copied.as_str());
            tracing::warn!(namespace, copied, "another object has the name of a copy: it is kept");
            let text = format!(
                "namespace {namespace} has an object of the name of the {copied} that is not a copy: it is kept, rename or remove it"
            );
            self.bootstrap.0.events.add(EventReason::ReplicaConflict, "Copy", text);
        }
        Done::Again(LATER)
    }

    fn settle(&self) {
        let key = (self.namespace.to_owned(), self.copied);
        self.bootstrap.0.replicator.lock().conflicts.remove(&key);
    }
}

/// Says whether the namespace ends or is gone, which is no fault.
fn is_ending(status: &Status) -> bool {
    let mut causes = status.details.iter().flat_map(|details| &details.causes);
    status.code == 404 || causes.any(|cause| cause.reason == "NamespaceTerminating")
}

impl Done {
    fn next(&self) -> Next {
        match self {
            Self::Rest => Next::Rest,
            Self::Again(delay) => Next::After(*delay),
        }
    }
}
