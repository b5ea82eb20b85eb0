//! What remotes say: asked in a pool of its own, once for all GatewaySyncs that share one.
//!
//! # Flow
//! A pass calls [`Remotes::look`] and gets what is known at this moment, never waiting. Where a
//! query is due, it also gets a [`Claim`], which it starts with credentials. When the query ends,
//! everyone who looked is woken.
//!
//! # Promises
//! - One query at a time per distinct repository, credential, CA and proxy.
//! - At most 16 git processes at a time, 6 of them for remotes whose last query failed, 12 for those
//!   and for remotes that were not asked before, 4 for one host, 2 of them for those that failed:
//!   remotes that hang stall no others.
//! - A failing remote is asked again within the larger of its polling interval and 30 s.
//!
//! Long: one state machine; a query touches all of its states.

mod pool;
mod words;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use stoker_core::backoff::{Backoff, jittered};
use stoker_core::reconcile::Failure;
use stoker_core::refs::{AdvertisedRef, History, HistoryQuery, Scope};
use tokio::time::Instant;

use super::arguments::Settings;
use super::cache::Key;
use super::credential::{Digest, Session};
use super::queue::Queue;
use super::token::IssuedToken;
use crate::announce::Metrics;
use pool::{Pool, Standing};

pub(crate) use words::{failure_of, unresolved};

const FIRST_RETRY: Duration = Duration::from_secs(2);
/// Where the polling interval is shorter, a failing remote is still asked no less often than this.
const SLOWEST_RETRY: Duration = Duration::from_secs(30);
/// How long the place of a commit in the history is kept that nobody asks for.
const HISTORY_KEPT: Duration = Duration::from_hours(1);
/// A query is due a little before the interval is over, so that pollers which come together share.
const EARLY: f64 = 0.85;

/// A repository as one identity with one trust sees it, and which refs are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RemoteKey(Digest);

/// What a remote advertised.
#[derive(Debug)]
pub(crate) struct Listing {
    /// Its refs.
    pub(crate) refs: Vec<AdvertisedRef>,
    /// The host key that was seen first, where one was learned.
    pub(crate) host_key: Option<String>,
    /// The token that was used, where it is one of a GitHub App.
    pub(crate) token: Option<IssuedToken>,
    /// When the query began.
    pub(crate) started: Instant,
    /// A digest of the refs.
    digest: Digest,
}

/// How fresh an answer has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Demand {
    /// The polling interval; none where polling is off.
    pub(crate) interval: Option<Duration>,
    /// The query must have begun after this.
    pub(crate) since: Option<Instant>,
}

/// What is known at this moment.
#[derive(Debug)]
pub(crate) struct Look {
    /// What the last query brought; none before the first.
    pub(crate) outcome: Option<Result<Arc<Listing>, Failure>>,
    /// Whether that query began after what the demand names.
    pub(crate) is_current: bool,
    /// The right to start a query, where one is due.
    pub(crate) claim: Option<Claim>,
    /// When to look again; none where a running query will wake this GatewaySync.
    pub(crate) next: Option<Duration>,
}

/// What is known about a commit's place in the history.
#[derive(Debug)]
pub(crate) struct HistoryLook {
    /// What the search brought; none before the first.
    pub(crate) outcome: Option<Result<History, Failure>>,
    /// The right to start a search, where one is due.
    pub(crate) claim: Option<Claim>,
    /// When to look again, where nothing else would make that happen.
    pub(crate) next: Option<Duration>,
}

/// The right to ask a remote. Dropped without being used, it goes back.
#[derive(Debug)]
pub(crate) struct Claim {
    shared: Arc<Shared>,
    remote: RemoteKey,
    of: Subject,
    is_used: bool,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Subject {
    Refs,
    History(HistoryQuery),
}

/// How to ask.
pub(crate) struct Query {
    /// Credentials and limits.
    pub(crate) session: Session,
    /// Which refs to list.
    pub(crate) scope: Scope,
    /// Whether to learn the host key first.
    pub(crate) learns_host_key: bool,
    /// A token of the GitHub App that is still good.
    pub(crate) token: Option<IssuedToken>,
}

/// All remotes.
#[derive(Debug)]
pub(crate) struct Remotes(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    entries: Mutex<HashMap<RemoteKey, Entry>>,
    queue: Arc<Queue>,
    pool: Pool,
    metrics: Metrics,
}

#[derive(Debug, Default)]
struct Entry {
    outcome: Option<Result<Arc<Listing>, Failure>>,
    is_running: bool,
    started: Option<Instant>,
    finished: Option<Instant>,
    failures: u32,
    interested: HashSet<Key>,
    histories: HashMap<HistoryQuery, Searched>,
}

#[derive(Debug, Default)]
struct Searched {
    outcome: Option<Result<History, Failure>>,
    /// The digest of the refs whose history it is.
    of: Option<Digest>,
    is_running: bool,
    started: Option<Instant>,
    finished: Option<Instant>,
    looked: Option<Instant>,
}

impl RemoteKey {
    /// Returns the key of a remote: credentials, pinned host keys and the refs that are listed.
    pub(crate) fn new(credentials: &Digest, pinned: Option<&str>, scope: Scope) -> Self {
        let mut hash = Sha256::new();
        hash.update(credentials);
        hash.update([u8::from(pinned.is_some())]);
        hash.update(pinned.unwrap_or_default());
        hash.update(format!("{scope:?}"));
        Self(hash.finalize().into())
    }
}

impl Listing {
    /// Takes what a remote advertised.
    pub(crate) fn new(
        refs: Vec<AdvertisedRef>,
        host_key: Option<String>,
        token: Option<IssuedToken>,
        started: Instant,
    ) -> Self {
        let mut hash = Sha256::new();
        for AdvertisedRef { name, object, peeled } in &refs {
            hash.update(name.as_bytes());
            hash.update([0]);
            hash.update(object.as_str());
            hash.update(peeled.as_ref().map_or("", |peeled| peeled.as_str()));
        }
        Self { refs, host_key, token, started, digest: hash.finalize().into() }
    }
}

impl Remotes {
    /// Returns an empty collection.
    pub(crate) fn new(settings: &Settings, queue: Arc<Queue>, metrics: Metrics) -> Self {
        let pool = Pool::new(settings);
        Self(Arc::new(Shared { entries: Mutex::default(), queue, pool, metrics }))
    }

    /// Returns what is known of a remote, and the right to ask it where that is due.
    pub(crate) fn look(&self, remote: RemoteKey, who: &Key, demand: Demand) -> Look {
        let now = Instant::now();
        let mut entries = self.0.lock();
        let entry = entries.entry(remote).or_default();
        entry.interested.insert(who.clone());
        let is_due = entry.is_due(demand, now);
        entry.is_running |= is_due;
        let claim = is_due.then(|| self.claim(remote, Subject::Refs));
        let next = if entry.is_running { None } else { entry.wait(demand, now) };
        let is_current = entry.is_current(demand);
        Look { outcome: entry.outcome.clone(), is_current, claim, next }
    }

    /// Returns what is known of a commit's place in the history of what was listed.
    pub(crate) fn look_at_history(
        &self,
        remote: RemoteKey,
        query: &HistoryQuery,
        listing: &Arc<Listing>,
    ) -> HistoryLook {
        let now = Instant::now();
        let mut entries = self.0.lock();
        let Some(entry) = entries.get_mut(&remote) else {
            return HistoryLook { outcome: None, claim: None, next: None };
        };
        let searched = entry.histories.entry(query.clone()).or_default();
        searched.looked = Some(now);
        let is_same = searched.of == Some(listing.digest);
        let failed = searched.outcome.as_ref().is_some_and(Result::is_err);
        let is_due = !searched.is_running
            && (!is_same || failed && searched.finished.is_none_or(|at| now - at > SLOWEST_RETRY));
        if is_due {
            searched.is_running = true;
            searched.of = Some(listing.digest);
        }
        let outcome = searched.outcome.clone();
        let next = (failed && !searched.is_running).then_some(SLOWEST_RETRY);
        let claim = is_due.then(|| self.claim(remote, Subject::History(query.clone())));
        HistoryLook { outcome, claim, next }
    }

    /// Forgets that a GatewaySync is interested in any remotes but these. A remote in which none is
    /// interested is dropped.
    pub(crate) fn keep(&self, who: &Key, remotes: &[RemoteKey]) {
        let mut entries = self.0.lock();
        for (remote, entry) in entries.iter_mut() {
            if !remotes.contains(remote) {
                entry.interested.remove(who);
            }
        }
        entries.retain(|_, entry| entry.is_running || !entry.interested.is_empty());
    }

    /// Forgets everything: what an earlier term knew may be older than what was announced since.
    pub(crate) fn forget_all(&self) {
        self.0.lock().clear();
    }

    fn claim(&self, remote: RemoteKey, of: Subject) -> Claim {
        Claim { shared: Arc::clone(&self.0), remote, of, is_used: false }
    }
}

impl Claim {
    /// Asks the remote, in the background.
    pub(crate) fn start(mut self, query: Query) {
        self.is_used = true;
        let (shared, remote, of) = (Arc::clone(&self.shared), self.remote, self.of.clone());
        let started = Instant::now();
        let standing = {
            let mut entries = shared.lock();
            let entry = entries.entry(remote).or_default();
            match &of {
                Subject::Refs => entry.started = Some(started),
                Subject::History(query) => {
                    entry.histories.entry(query.clone()).or_default().started = Some(started);
                }
            }
            entry.standing()
        };
        tokio::spawn(async move {
            match of {
                Subject::Refs => {
                    let outcome = shared.pool.list(query, standing).await;
                    shared.metrics.queried(outcome.is_ok(), started.elapsed());
                    shared.finish(remote, Some(started), outcome);
                }
                Subject::History(wanted) => {
                    let outcome = shared.pool.search(query, wanted.clone(), standing).await;
                    shared.finish_history(remote, &wanted, Some(started), outcome);
                }
            }
        });
    }

    /// Says that the remote can't be asked, because of its credentials.
    pub(crate) fn fail(mut self, failure: Failure) {
        self.is_used = true;
        match &self.of {
            Subject::Refs => self.shared.finish(self.remote, None, Err(failure)),
            Subject::History(query) => {
                self.shared.finish_history(self.remote, query, None, Err(failure));
            }
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.is_used {
            return;
        }
        if let Some(entry) = self.shared.lock().get_mut(&self.remote) {
            match &self.of {
                Subject::Refs => entry.is_running = false,
                Subject::History(query) => drop(entry.histories.remove(query)),
            }
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, HashMap<RemoteKey, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over what a query brought, unless the entry has been dropped and made again since.
    fn finish(
        &self,
        remote: RemoteKey,
        started: Option<Instant>,
        outcome: Result<Listing, Failure>,
    ) {
        let interested = {
            let mut entries = self.lock();
            let Some(entry) = entries.get_mut(&remote) else { return };
            if started.is_some() && entry.started != started {
                return;
            }
            entry.finish(started, outcome.map(Arc::new), Instant::now());
            entry.interested.clone()
        };
        for key in interested {
            self.queue.wake(key);
        }
    }

    fn finish_history(
        &self,
        remote: RemoteKey,
        query: &HistoryQuery,
        started: Option<Instant>,
        outcome: Result<History, Failure>,
    ) {
        let interested = {
            let mut entries = self.lock();
            let Some(entry) = entries.get_mut(&remote) else { return };
            if let Some(searched) = entry.histories.get_mut(query) {
                if started.is_some() && searched.started != started {
                    return;
                }
                searched.is_running = false;
                searched.finished = Some(Instant::now());
                searched.outcome = Some(outcome);
            }
            entry.interested.clone()
        };
        for key in interested {
            self.queue.wake(key);
        }
    }
}

impl Entry {
    /// Takes over what a query brought; none was started where credentials could not be read.
    fn finish(
        &mut self,
        started: Option<Instant>,
        outcome: Result<Arc<Listing>, Failure>,
        now: Instant,
    ) {
        self.is_running = false;
        // An attempt serves a request, too, or it would be repeated at every look.
        self.started = started.or(Some(now));
        self.finished = Some(now);
        self.failures = if outcome.is_ok() { 0 } else { self.failures.saturating_add(1) };
        self.outcome = Some(outcome);
        self.histories.retain(|_, searched| {
            searched.is_running || searched.looked.is_some_and(|at| now - at < HISTORY_KEPT)
        });
    }

    fn is_due(&self, demand: Demand, now: Instant) -> bool {
        if self.is_running {
            return false;
        }
        let (Some(started), Some(finished)) = (self.started.or(self.finished), self.finished)
        else {
            return true;
        };
        if demand.since.is_some_and(|since| started < since) {
            return true;
        }
        if self.token().is_some_and(|token| token.renew <= now) {
            return true;
        }
        let age = now - finished;
        match (&self.outcome, demand.interval) {
            (Some(Ok(_)), Some(interval)) => age >= interval.mul_f64(EARLY),
            (Some(Ok(_)), None) => false,
            (Some(Err(_)) | None, interval) => {
                age >= retry(interval).delay(self.failures, 0.0).mul_f64(EARLY)
            }
        }
    }

    /// Says whether what is known was asked for after what the demand names.
    fn is_current(&self, demand: Demand) -> bool {
        // While a query runs, `started` is its beginning, and only a listing knows its own.
        let started = match &self.outcome {
            Some(Ok(listing)) => Some(listing.started),
            Some(Err(_)) if !self.is_running => self.started.or(self.finished),
            Some(Err(_)) | None => None,
        };
        started.is_some_and(|started| demand.since.is_none_or(|since| started >= since))
    }

    fn standing(&self) -> Standing {
        match &self.outcome {
            Some(Ok(_)) => Standing::Good,
            None => Standing::New,
            Some(Err(_)) => Standing::Failing,
        }
    }

    fn token(&self) -> Option<&IssuedToken> {
        self.outcome.as_ref()?.as_ref().ok()?.token.as_ref()
    }

    /// Returns when the next query is due: for a poll, a retry, or a new token.
    fn wait(&self, demand: Demand, now: Instant) -> Option<Duration> {
        let renewal = self.token().map(|token| token.renew.saturating_duration_since(now));
        self.poll(demand, now).into_iter().chain(renewal).min()
    }

    fn poll(&self, demand: Demand, now: Instant) -> Option<Duration> {
        let age = self.finished.map(|finished| now - finished).unwrap_or_default();
        let after = match (&self.outcome, demand.interval) {
            (Some(Ok(_)), Some(interval)) => jittered(interval, fastrand::f64()),
            (Some(Ok(_)), None) => return None,
            (Some(Err(_)) | None, interval) => {
                retry(interval).delay(self.failures, fastrand::f64() / 2.0)
            }
        };
        Some(after.saturating_sub(age).max(Duration::from_millis(10)))
    }
}

fn retry(interval: Option<Duration>) -> Backoff {
    let most = interval.unwrap_or(SLOWEST_RETRY).max(SLOWEST_RETRY);
    Backoff { first: FIRST_RETRY, most }
}

#[cfg(test)]
mod tests {
    use stoker_api::condition::Reason;

    use super::*;

    const MINUTE: Demand = Demand { interval: Some(Duration::from_mins(1)), since: None };

    fn entry(now: Instant, outcome: Result<(), ()>) -> Entry {
        let listing = Listing::new(Vec::new(), None, None, now);
        let failure = Failure { reason: Reason::RemoteUnreachable, message: String::new() };
        Entry {
            outcome: Some(outcome.map(|()| Arc::new(listing)).map_err(|()| failure)),
            started: Some(now),
            finished: Some(now),
            failures: u32::from(outcome.is_err()),
            ..Entry::default()
        }
    }

    // R9, R10: whatever else happens, the remote is asked once an interval.
    #[tokio::test(start_paused = true)]
    async fn a_good_answer_serves_for_one_interval_and_until_someone_asks() {
        let now = Instant::now();
        let entry = entry(now, Ok(()));
        let after = |seconds| now + Duration::from_secs(seconds);
        assert!(!entry.is_due(MINUTE, after(50)));
        assert!(entry.is_due(MINUTE, after(60)));
        let asked = Demand { since: Some(after(1)), ..MINUTE };
        assert!(entry.is_due(asked, after(1)));
        let off = Demand { interval: None, since: None };
        assert!(!entry.is_due(off, after(100_000)));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_current_if_its_query_began_after_the_request() {
        let now = Instant::now();
        let since = |at| Demand { since: Some(at), ..MINUTE };
        for outcome in [Ok(()), Err(())] {
            let entry = entry(now, outcome);
            assert!(entry.is_current(MINUTE));
            assert!(entry.is_current(since(now)));
            assert!(!entry.is_current(since(now + Duration::from_millis(1))));
        }
        assert!(!Entry::default().is_current(MINUTE));
        let mut running = entry(now, Err(()));
        (running.is_running, running.started) = (true, Some(now + Duration::from_secs(2)));
        assert!(!running.is_current(since(now + Duration::from_secs(1))));
    }

    // F36: pauses grow while a remote fails, are not alike, and begin anew after an answer.
    // R30: a request that stays does not make them shorter.
    #[tokio::test(start_paused = true)]
    async fn pauses_grow_while_a_remote_fails_and_an_answer_ends_them() {
        let now = Instant::now();
        let [good, bad] = [Ok(()), Err(())].map(|outcome| entry(now, outcome).outcome.unwrap());
        let asked = Demand { interval: Some(Duration::from_hours(1)), since: Some(now) };
        let mut entry = entry(now, Err(()));
        let mut pauses = Vec::new();
        for _ in 0..5 {
            pauses.push(entry.wait(asked, now).unwrap());
            entry.finish(Some(now), bad.clone(), now);
        }
        assert!(pauses.windows(2).all(|two| two[1] > two[0].mul_f64(1.5)), "{pauses:?}");
        assert!(!entry.is_due(asked, now + Duration::from_secs(30)));
        let alike: HashSet<_> = (0..20).map(|_| entry.wait(asked, now)).collect();
        assert!(alike.len() > 1, "{alike:?}");
        entry.finish(Some(now), good, now);
        entry.finish(Some(now), bad, now);
        assert!(entry.wait(asked, now).unwrap() <= FIRST_RETRY);
    }

    // R30: also where it is not the remote that fails but the reading of the credentials.
    #[tokio::test(start_paused = true)]
    async fn credentials_that_can_not_be_read_are_not_tried_at_every_look() {
        let now = Instant::now();
        let asked = now + Duration::from_secs(1);
        let demand = Demand { since: Some(asked), ..MINUTE };
        let bad = entry(now, Err(())).outcome.unwrap();
        let mut entry = entry(now, Ok(()));
        assert!(entry.is_due(demand, asked));
        entry.finish(None, bad, asked);
        assert!(!entry.is_due(demand, asked + Duration::from_millis(10)));
        assert!(entry.is_due(demand, asked + FIRST_RETRY));
    }

    // S4: a remote's return is noticed within the larger of the interval and 30 s.
    #[tokio::test(start_paused = true)]
    async fn a_failing_remote_is_asked_again_within_thirty_seconds() {
        let now = Instant::now();
        let mut entry = entry(now, Err(()));
        assert!(!entry.is_due(MINUTE, now + Duration::from_secs(1)));
        assert!(entry.is_due(MINUTE, now + Duration::from_secs(2)));
        entry.failures = 100;
        let short = Demand { interval: Some(Duration::from_secs(5)), since: None };
        assert!(entry.is_due(short, now + Duration::from_secs(30)));
        assert!(entry.is_due(MINUTE, now + Duration::from_mins(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_running_query_is_never_doubled() {
        let now = Instant::now();
        let mut entry = Entry::default();
        assert!(entry.is_due(MINUTE, now));
        entry.is_running = true;
        assert!(!entry.is_due(MINUTE, now + Duration::from_hours(1)));
    }
}
