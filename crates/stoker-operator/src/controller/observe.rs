//! Reads everything that the decision about one GatewaySync needs, once.
//!
//! Almost all of it is in memory already. Only Secrets are read from the API server, and only when
//! the remote is asked or when they have changed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use stoker_api::chain::Chain;
use stoker_api::condition::{Reason, Requester};
use stoker_api::gatewaysync::{AuthMethod, Polling};
use stoker_api::names::{Annotation, TRUE};
use stoker_api::word::{Interval, RefName, RepoUrl, Transport};
use stoker_api::{GatewaySync, SyncProfile};
use stoker_core::gateway::Choice;
use stoker_core::reconcile::{Failure, HostKeys, Observed, Receiver, Remote, Rights, requested};
use stoker_core::refs::{self, Answer, Scope, Unreachable, Wanted};
use stoker_git::host_key;

use tokio::time::Instant;

use super::arguments::ReceiverSecrets;
use super::cache::{Belongings, Key};
use super::remote::{Demand, Listing, Query, RemoteKey, unresolved};
use super::token::IssuedToken;
use super::{Context, Error, Next, credential, token};

/// What was observed, and when to look again.
pub(crate) struct Observation {
    pub(crate) facts: Observed,
    /// The version of the metadata that was observed.
    pub(crate) metadata_version: Option<String>,
    /// The token of its GitHub App, and the credentials that it is for.
    token: Option<HeldToken>,
    pub(crate) next: Next,
}

/// A token and the credentials that it is for.
struct HeldToken {
    of: credential::Digest,
    token: IssuedToken,
}

/// What the remote side of an observation is made of.
struct Inquiry<'a> {
    context: &'a Context,
    key: &'a Key,
    sync: &'a GatewaySync,
    url: RepoUrl,
    credentials: credential::Digest,
    pinned: Option<String>,
    /// Host keys that were learned before this count for nothing.
    forgotten: Option<Instant>,
    demand: Demand,
    /// The remotes that were asked.
    asked: Mutex<Vec<RemoteKey>>,
}

/// One answer of a remote.
struct Reply {
    remote: Remote,
    host_key: Option<String>,
    token: Option<IssuedToken>,
    is_since_asked: bool,
    next: Option<Duration>,
}

impl Observation {
    /// Hands the token of a GitHub App to the agents, where there is a new one.
    pub(crate) async fn hand_over_token(
        &self,
        context: &Context,
        key: &Key,
        sync: &GatewaySync,
    ) -> Result<(), String> {
        match &self.token {
            Some(HeldToken { of, token }) => token::publish(context, key, sync, of, token).await,
            None => Ok(()),
        }
    }
}

/// Reads everything.
pub(crate) async fn observe(
    context: &Context,
    key: &Key,
    sync: &GatewaySync,
) -> Result<Observation, Error> {
    let belongings = context.cache.belongings(key, sync.metadata.uid.as_deref());
    let pods = context.cache.pods(key);
    let mut facts = Observed {
        repository: None,
        remote: Remote::Asked,
        asked_by: None,
        overrides: BTreeMap::new(),
        host_keys: HostKeys::NotNeeded,
        published: belongings.metadata.as_ref().map(|metadata| metadata.content.clone()),
        sync_profiles: BTreeMap::new(),
        reports: belongings.reports.clone(),
        shards: belongings.shards.clone(),
        rights: if context.settings.auto_bind_agent {
            Rights::Managed { role: belongings.role, bound: belongings.bound.clone() }
        } else {
            Rights::NotManaged
        },
        emergency: context.cache.emergency(),
        receiver: receiver(context, key, sync).await,
        pods,
    };
    for pod in &facts.pods {
        if let Choice::Object(name) = pod.choice()
            && let Some(object) = context.cache.profile(&Key::new(&key.namespace, name))
        {
            facts.sync_profiles.insert(name.to_owned(), SyncProfile::clone(&object));
        }
    }
    let asked = ask(context, key, sync, &belongings, &mut facts).await;
    let metadata_version = belongings.metadata.and_then(|metadata| metadata.resource_version);
    Ok(Observation { facts, metadata_version, token: asked.token, next: asked.next })
}

/// Asks the remote about every wanted ref, and fills in what it says.
async fn ask(
    context: &Context,
    key: &Key,
    sync: &GatewaySync,
    belongings: &Belongings,
    facts: &mut Observed,
) -> Outcome {
    let url = match allowed(context, &sync.spec.git.repo) {
        Ok(url) => url,
        Err(failure) => {
            facts.remote = Remote::Failed(failure);
            return Outcome::rest(Next::Rest);
        }
    };
    facts.repository = Some(url.clone());
    let pinned = pinned(sync, &url, belongings);
    facts.host_keys = host_keys(sync, &url, pinned.clone());
    let wanted = match requested(sync, Timestamp::now()).wanted {
        Ok(wanted) => wanted,
        Err(invalid) => {
            let message = Chain(&invalid).to_string();
            facts.remote = Remote::Failed(Failure { reason: Reason::RefResolutionFailed, message });
            return Outcome::rest(Next::Rest);
        }
    };
    let credentials = match credential::digest(context, key, sync).await {
        Ok(credentials) => credentials,
        Err(failure) => {
            facts.remote = Remote::Failed(failure);
            return Outcome::rest(Next::After(SECRETS_AGAIN));
        }
    };
    let demand = demand(context, key, sync);
    let forgotten = forgotten(context, key, sync);
    let asked = Mutex::default();
    let inquiry =
        Inquiry { context, key, sync, url, credentials, pinned, forgotten, demand, asked };
    let main = inquiry.resolve(&wanted).await;
    if main.is_since_asked {
        facts.asked_by = asked_by(sync);
    }
    if let (HostKeys::Pinned(pinned), Some(learned)) = (&mut facts.host_keys, main.host_key) {
        pinned.get_or_insert(learned);
    }
    let token = main.token.map(|token| HeldToken { of: inquiry.credentials, token });
    facts.remote = main.remote;
    let mut next = main.next.map_or(Next::Rest, Next::After);
    for pod in &facts.pods {
        let Some(text) = pod.annotation(Annotation::RefOverride) else { continue };
        let reply = match RefName::parse(text) {
            Ok(wanted) => inquiry.resolve(&wanted).await,
            Err(error) => Reply::failed(Failure {
                reason: Reason::RefResolutionFailed,
                message: format!("{text:?} is not a ref: {error}"),
            }),
        };
        facts.overrides.insert(pod.name.clone(), reply.remote);
        next = next.sooner(reply.next.map_or(Next::Rest, Next::After));
    }
    inquiry.settle();
    Outcome { token, next }
}

/// What asking the remote brings besides facts.
struct Outcome {
    token: Option<HeldToken>,
    next: Next,
}

impl Outcome {
    fn rest(next: Next) -> Self {
        Self { token: None, next }
    }
}

/// A Secret that is missing wakes the GatewaySync when it comes; this is for those who can't watch.
const SECRETS_AGAIN: Duration = Duration::from_secs(30);

impl Inquiry<'_> {
    async fn resolve(&self, name: &RefName) -> Reply {
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
        let look = self.context.remotes.look(remote, self.key, self.demand);
        if let Some(claim) = look.claim {
            let held = look.outcome.as_ref().and_then(|outcome| outcome.as_ref().ok());
            match self.query(scope, held.and_then(|listing| listing.token.clone())).await {
                Ok(query) => claim.start(query),
                Err(failure) => claim.fail(failure),
            }
        }
        let outcome = look.outcome.filter(|outcome| !self.is_forgotten(outcome));
        match outcome {
            None => Reply {
                remote: Remote::Asked,
                host_key: None,
                token: None,
                is_since_asked: false,
                next: look.next,
            },
            Some(Err(failure)) => Reply { next: look.next, ..Reply::failed(failure) },
            Some(Ok(listing)) => {
                let since = self.demand.since;
                let (found, again) = self.find(&wanted, remote, &listing, scope).await;
                let both = look.next.into_iter().chain(again);
                Reply {
                    remote: found,
                    host_key: listing.host_key.clone(),
                    token: listing.token.clone(),
                    is_since_asked: since.is_some_and(|since| listing.started >= since),
                    next: both.min(),
                }
            }
        }
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
            match self.query(scope, listing.token.clone()).await {
                Ok(query) => claim.start(query),
                Err(failure) => claim.fail(failure),
            }
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
    fn settle(&self) {
        let mut asked =
            std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner));
        asked.sort();
        asked.dedup();
        let is_same = self.context.memories.with(self.key, |memory| {
            let is_same = memory.remotes == asked;
            memory.remotes.clone_from(&asked);
            is_same
        });
        if !is_same {
            self.context.remotes.keep(self.key, &asked);
        }
    }

    /// Reads the Secrets again: what was remembered of them is only a digest.
    async fn query(&self, scope: Scope, held: Option<IssuedToken>) -> Result<Query, Failure> {
        let material = credential::load(self.context, self.key, self.sync).await?;
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
    fn failed(failure: Failure) -> Self {
        Self {
            remote: Remote::Failed(failure),
            host_key: None,
            token: None,
            is_since_asked: false,
            next: None,
        }
    }
}

/// Checks that a repository may be used at all.
fn allowed(context: &Context, text: &str) -> Result<RepoUrl, Failure> {
    let refused = |message: String| Failure { reason: Reason::RefResolutionFailed, message };
    let url = RepoUrl::parse(text).map_err(|error| refused(format!("spec.git.repo: {error}")))?;
    if url.transport() == Transport::File && !context.settings.allow_file_repos {
        let message = "spec.git.repo: file:// repositories are not allowed here: start the \
                       operator with --allow-file-repos, or use https:// or ssh://";
        return Err(refused(message.to_owned()));
    }
    Ok(url)
}

fn is_forgotten(sync: &GatewaySync) -> bool {
    annotation(sync, Annotation::ForgetHostKey) == Some(TRUE)
}

/// Returns since when a learned host key counts.
fn forgotten(context: &Context, key: &Key, sync: &GatewaySync) -> Option<Instant> {
    context.memories.with(key, |memory| {
        if is_forgotten(sync) && memory.forgotten.is_none_or(|at| Some(at) < memory.asked_at()) {
            memory.forgotten = memory.asked_at().or_else(|| Some(Instant::now()));
        }
        memory.forgotten
    })
}

/// Returns the host keys that were pinned for this server.
fn pinned(sync: &GatewaySync, url: &RepoUrl, belongings: &Belongings) -> Option<String> {
    if is_forgotten(sync) || !matches!(host_keys(sync, url, None), HostKeys::Pinned(_)) {
        return None;
    }
    let metadata = belongings.metadata.as_ref()?.content.as_ref().ok()?;
    metadata.known_hosts.clone().filter(|known_hosts| host_key::covers(known_hosts, url))
}

fn host_keys(sync: &GatewaySync, url: &RepoUrl, pinned: Option<String>) -> HostKeys {
    if url.transport() != Transport::Ssh {
        return HostKeys::NotNeeded;
    }
    match sync.spec.git.auth.as_ref().and_then(|auth| auth.method()) {
        Some(AuthMethod::SshKey { known_hosts: Some(_), .. }) => HostKeys::Given,
        _ => HostKeys::Pinned(pinned),
    }
}

/// How fresh the remote's answer has to be: a request by annotation can't wait for the next poll.
fn demand(context: &Context, key: &Key, sync: &GatewaySync) -> Demand {
    let polling = sync.spec.polling.clone().unwrap_or_default();
    let interval =
        polling.interval.as_deref().and_then(|text| Interval::parse_repeating(text).ok());
    let interval = interval.unwrap_or(Polling::DEFAULT_INTERVAL).as_duration();
    let marks = [
        Annotation::RequestedRef,
        Annotation::RequestedAt,
        Annotation::RecheckAt,
        Annotation::ForgetHostKey,
    ];
    let marks = marks.map(|mark| annotation(sync, mark).unwrap_or_default());
    let since = context.memories.with(key, |memory| memory.note(marks.join("\n")));
    Demand { interval: (polling.enabled != Some(false)).then_some(interval), since }
}

/// Returns who asked last.
fn asked_by(sync: &GatewaySync) -> Option<Requester> {
    let time = |at| annotation(sync, at).and_then(|text| text.parse::<Timestamp>().ok());
    let by = if time(Annotation::RecheckAt) >= time(Annotation::RequestedAt) {
        Annotation::RecheckBy
    } else {
        Annotation::RequestedBy
    };
    Some(annotation(sync, by).and_then(Requester::find).unwrap_or(Requester::Cli))
}

fn annotation(sync: &GatewaySync, annotation: Annotation) -> Option<&str> {
    let annotations = sync.metadata.annotations.as_ref()?;
    annotations.get(annotation.as_str()).map(String::as_str).filter(|text| !text.is_empty())
}

async fn receiver(context: &Context, key: &Key, sync: &GatewaySync) -> Receiver {
    let Some(secrets) = context.settings.receiver else { return Receiver::Off };
    let webhook = sync.spec.webhook.as_ref();
    if webhook.is_some_and(|webhook| webhook.enabled == Some(false)) {
        return Receiver::Off;
    }
    if let Some(own) = webhook.and_then(|webhook| webhook.secret_ref.as_ref()) {
        let exists = credential::exists(context, &Key::new(&key.namespace, &own.name)).await;
        return if exists { Receiver::Active } else { Receiver::SecretNotFound };
    }
    match secrets {
        ReceiverSecrets::OperatorWide => Receiver::Active,
        ReceiverSecrets::Insecure => Receiver::Insecure,
        ReceiverSecrets::Nothing => Receiver::NoSecret,
    }
}
