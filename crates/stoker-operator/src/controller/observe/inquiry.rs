//! Asks a remote about refs, through the pool that all GatewaySyncs share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stoker_api::GatewaySync;
use stoker_api::word::{RefName, RepoUrl, Transport};
use stoker_core::reconcile::{Failure, HostKeys, Remote};
use stoker_core::refs::{self, Answer, Scope, Unreachable, Wanted};
use tokio::time::Instant;

use super::pin::host_keys;
use crate::controller::Context;
use crate::controller::cache::Key;
use crate::controller::credential::{self, Material};
use crate::controller::remote::{Claim, Demand, Listing, Query, RemoteKey, unresolved};
use crate::controller::token::{self, IssuedToken};

/// What the remote side of an observation is made of.
pub(super) struct Inquiry<'a> {
    pub(super) context: &'a Context,
    pub(super) key: &'a Key,
    pub(super) sync: &'a GatewaySync,
    pub(super) url: RepoUrl,
    pub(super) credentials: credential::Digest,
    pub(super) pinned: Option<String>,
    /// Host keys that were learned before this count for nothing.
    pub(super) forgotten: Option<Instant>,
    pub(super) demand: Demand,
    /// The refs that the last pass wanted, and since when; none in the first pass.
    pub(super) known: Option<BTreeMap<String, Option<Instant>>>,
    /// Since when the refs of a first pass are wanted.
    pub(super) created: Option<Instant>,
    /// The remotes that were asked.
    pub(super) asked: Mutex<Vec<RemoteKey>>,
    /// The refs that are wanted, and since when.
    pub(super) wanted: Mutex<BTreeMap<String, Option<Instant>>>,
}

/// One answer of a remote.
pub(super) struct Reply {
    pub(super) remote: Remote,
    pub(super) host_key: Option<String>,
    pub(super) token: Option<IssuedToken>,
    /// Whether the remote was asked because of a request.
    pub(super) is_since_asked: bool,
    /// Whether it was asked since the last request, if there is one.
    pub(super) is_current: bool,
    pub(super) next: Option<Duration>,
}

impl Inquiry<'_> {
    /// Says what the remote knows of a ref, and has it asked where that is due.
    pub(super) async fn resolve(&self, name: &RefName) -> Reply {
        let wanted = match Wanted::read(name) {
            Ok(wanted) => wanted,
            Err(error) => return Reply::failed(unresolved(&error)),
        };
        // Branches and tags are listed together, so that all who share a remote share one query.
        let scope = match wanted.scope() {
            Scope::All => Scope::All,
            Scope::Branches | Scope::Tags | Scope::BranchesAndTags => Scope::BranchesAndTags,
        };
        let remote = RemoteKey::new(&self.credentials, self.pinned.as_deref(), scope);
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(remote);
        let wanted_since = self.wanted_since(name);
        let demand = Demand { since: self.demand.since.max(wanted_since), ..self.demand };
        let look = self.context.remotes.look(remote, self.key, demand);
        if let Some(claim) = look.claim {
            let held = look.outcome.as_ref().and_then(|outcome| outcome.as_ref().ok());
            self.ask(claim, scope, held.and_then(|listing| listing.token.clone())).await;
        }
        let outcome = look.outcome.filter(|outcome| {
            // What was listed before says nothing of a ref that is wanted since: it may have been
            // made, or moved.
            let is_older =
                |listing: &Arc<Listing>| wanted_since.is_some_and(|at| listing.started < at);
            !self.is_forgotten(outcome) && !outcome.as_ref().is_ok_and(is_older)
        });
        match outcome {
            None => Reply {
                remote: Remote::Asked,
                host_key: None,
                token: None,
                is_since_asked: false,
                is_current: false,
                next: look.next,
            },
            Some(Err(failure)) => {
                let (is_current, next) = (look.is_current, look.next);
                Reply { is_current, next, ..Reply::failed(failure) }
            }
            Some(Ok(listing)) => {
                let since = self.demand.since;
                let (found, again) = self.find(&wanted, remote, &listing, scope).await;
                let both = look.next.into_iter().chain(again);
                Reply {
                    remote: found,
                    host_key: listing.host_key.clone(),
                    token: listing.token.clone(),
                    is_current: look.is_current,
                    is_since_asked: since.is_some_and(|since| listing.started >= since),
                    next: both.min(),
                }
            }
        }
    }

    /// Returns since when a ref is wanted: from the pass on that saw it first.
    fn wanted_since(&self, name: &RefName) -> Option<Instant> {
        let ref_of_url = format!("{} {name}", self.url);
        let since = match &self.known {
            None => self.created,
            Some(known) => known.get(&ref_of_url).copied().unwrap_or_else(|| Some(Instant::now())),
        };
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        *wanted.entry(ref_of_url).or_insert(since)
    }

    fn is_forgotten(&self, outcome: &Result<Arc<Listing>, Failure>) -> bool {
        let learned = outcome.as_ref().ok().filter(|listing| listing.host_key.is_some());
        learned.zip(self.forgotten).is_some_and(|(listing, at)| listing.started < at)
    }

    async fn find(
        &self,
        wanted: &Wanted,
        remote: RemoteKey,
        listing: &Arc<Listing>,
        scope: Scope,
    ) -> (Remote, Option<Duration>) {
        let query = match refs::resolve(wanted, &listing.refs) {
            Ok(Answer::Resolved(resolution)) => return (Remote::Resolved(resolution), None),
            Ok(Answer::NeedsHistory(query)) => query,
            Err(error) => return (Remote::Failed(unresolved(&error)), None),
        };
        let look = self.context.remotes.look_at_history(remote, &query, listing);
        if let Some(claim) = look.claim {
            self.ask(claim, scope, listing.token.clone()).await;
        }
        let found = match look.outcome {
            None => Remote::Asked,
            Some(Err(failure)) => Remote::Failed(failure),
            Some(Ok(history)) => match refs::resolve_in(&history, wanted, Unreachable::Refused) {
                Ok(resolution) => Remote::Resolved(resolution),
                Err(error) => Remote::Failed(unresolved(&error)),
            },
        };
        (found, look.next)
    }

    /// Lets go of remotes that this GatewaySync does not ask any more.
    pub(super) fn settle(&self) {
        let mut asked =
            std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner));
        asked.sort();
        asked.dedup();
        let wanted =
            std::mem::take(&mut *self.wanted.lock().unwrap_or_else(PoisonError::into_inner));
        let is_same = self.context.memories.with(self.key, |memory| {
            memory.wanted = Some(wanted);
            let is_same = memory.remotes == asked;
            memory.remotes.clone_from(&asked);
            is_same
        });
        if !is_same {
            self.context.remotes.keep(self.key, &asked);
        }
    }

    /// Asks the remote with the credentials that the claim is for.
    async fn ask(&self, claim: Claim, scope: Scope, held: Option<IssuedToken>) {
        // What was remembered of the Secrets is only a digest.
        let material = match credential::load(self.context, self.key, self.sync).await {
            Ok(material) => material,
            Err(failure) => return claim.fail(failure),
        };
        if material.digest(self.sync) != self.credentials {
            // The Secrets were rotated: what they get belongs to another remote, which the next
            // pass asks. The claim goes back.
            return self.context.queue.wake(self.key.clone());
        }
        match self.query(&material, scope, held).await {
            Ok(query) => claim.start(query),
            Err(failure) => claim.fail(failure),
        }
    }

    async fn query(
        &self,
        material: &Material,
        scope: Scope,
        held: Option<IssuedToken>,
    ) -> Result<Query, Failure> {
        let session = material.session(self.sync, self.url.clone(), self.pinned.as_deref())?;
        let is_given = matches!(host_keys(self.sync, &self.url, None), HostKeys::Given);
        let learns_host_key =
            self.url.transport() == Transport::Ssh && !is_given && self.pinned.is_none();
        let held = held.filter(|token| token.renew > Instant::now());
        let token = match (&session.app, held) {
            (None, _) => None,
            (Some(_), Some(token)) => Some(token),
            (Some(_), None) => token::find(self.context, self.key, &self.credentials).await,
        };
        Ok(Query { session, scope, learns_host_key, token })
    }
}

impl Reply {
    /// Returns the reply where a ref can't be asked for.
    pub(super) fn failed(failure: Failure) -> Self {
        Self {
            remote: Remote::Failed(failure),
            host_key: None,
            token: None,
            is_since_asked: false,
            is_current: true,
            next: None,
        }
    }
}
