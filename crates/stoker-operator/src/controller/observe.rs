//! Reads everything that the decision about one GatewaySync needs, once.
//!
//! Almost all of it is in memory already. Only Secrets are read from the API server, and only when
//! the remote is asked or when they have changed.

mod inquiry;
mod pin;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use stoker_api::chain::Chain;
use stoker_api::condition::{Reason, Requester, Trigger};
use stoker_api::gatewaysync::{Auth, AuthMethod, GatewaySyncStatus, Polling};
use stoker_api::names::{Annotation, SecretKey};
use stoker_api::word::{Interval, RefName, RepoUrl, Transport};
use stoker_api::{GatewaySync, SyncProfile};
use stoker_core::gateway::Choice;
use stoker_core::reconcile::{
    Failure, HostKeys, LastSync, Observed, Receiver, Remote, Rights, TokenWriter, received,
    requested,
};
use tokio::time::Instant;

use super::cache::{Belongings, Key, Versions, account};
use super::credential::PushSecretState;
use super::remote::Demand;
use super::token::IssuedToken;
use super::{Context, Error, Next, Published, credential, legacy, token};
use crate::receiver::ReceiverSecrets;
use inquiry::{Inquiry, Reply};
use pin::{forgotten, host_keys, pinned};

/// What was observed, and when to look again.
pub(crate) struct Observation {
    pub(crate) facts: Observed,
    /// The versions of the objects that were observed.
    pub(crate) versions: Versions,
    /// The status objects that have a report, by the name of the pod.
    pub(crate) places: BTreeMap<String, Vec<u8>>,
    /// The token of its GitHub App, and the credentials that it is for.
    token: Option<HeldToken>,
    /// Who sent a push event since the last pass.
    received: Option<Requester>,
    pub(crate) next: Next,
}

/// A token and the credentials that it is for.
struct HeldToken {
    of: credential::Digest,
    token: IssuedToken,
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

impl Observation {
    /// Tells what no status tells.
    pub(crate) fn tell(&self, context: &Context, key: &Key, sync: &GatewaySync) {
        if let Some(by) = self.received {
            context.announcer.tell(sync, &received(sync, by));
        }
        let method = sync.spec.git.auth.as_ref().and_then(Auth::method);
        let has_app = matches!(method, Some(AuthMethod::GithubApp { .. }));
        match &self.token {
            Some(held) => context.announcer.token_expires(key, Some(held.token.expires)),
            // While the remote can't be asked, the last token counts.
            None if has_app => {}
            None => context.announcer.token_expires(key, None),
        }
    }
}

/// Reads everything.
pub(crate) async fn observe(
    context: &Context,
    key: &Key,
    sync: &GatewaySync,
) -> Result<Observation, Error> {
    let mut belongings = context.cache.belongings(key, sync.metadata.uid.as_deref());
    let pods = context.cache.pods(key);
    let (push_events, again) = receiver(context, key, sync).await;
    let mut facts = Observed {
        repository: None,
        remote: Remote::Asked,
        is_current: true,
        asked_by: None,
        overrides: BTreeMap::new(),
        host_keys: HostKeys::NotNeeded,
        published: belongings.metadata.as_ref().map(|metadata| metadata.content.clone()),
        sync_profiles: BTreeMap::new(),
        reports: std::mem::take(&mut belongings.reports),
        shards: std::mem::take(&mut belongings.shards),
        rights: if context.settings.auto_bind_agent {
            Rights::Managed { role: belongings.role, bound: belongings.bound.clone() }
        } else {
            Rights::NotManaged
        },
        emergency: context.cache.emergency(),
        receiver: push_events,
        completed: completed(context, key, sync),
        unlisted: context.memories.with(key, |memory| memory.unlisted.clone()),
        failed_write: None,
        legacy: legacy::reports(context, key, &pods).await?,
        token_writer: token_writer(context, key, &belongings),
        injection: Some(Arc::clone(&context.settings.admission)),
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
    let received = new_push_event(context, key, sync);
    let Belongings { places, versions, .. } = belongings;
    let Outcome { token, next } = asked;
    let next = next.sooner(again);
    Ok(Observation { facts, versions, places, token, received, next })
}

/// Returns the commit of which it was last told that all gateways have it.
fn completed(context: &Context, key: &Key, sync: &GatewaySync) -> Option<String> {
    let published = sync.status.as_ref().and_then(completed_commit);
    context.memories.with(key, |memory| {
        memory.completed = memory.completed.take().or(published);
        memory.completed.clone()
    })
}

/// Takes note of what was told after a status was published.
pub(crate) fn remember_told(
    context: &Context,
    key: &Key,
    published: &Published,
    unlisted: BTreeMap<String, LastSync>,
) {
    let commit = match published {
        Published::Written(status) => completed_commit(status),
        Published::Unchanged => None,
        Published::Deferred(_) => return,
    };
    context.memories.with(key, |memory| {
        memory.completed = commit.or(memory.completed.take());
        memory.unlisted = Some(Arc::new(unlisted));
    });
}

/// Returns the commit that all gateways have had last. Without gateways it only follows the ref.
fn completed_commit(status: &GatewaySyncStatus) -> Option<String> {
    let has_gateways = status.gateways.is_some_and(|counts| counts.discovered > 0);
    status.last_sync_commit.clone().filter(|_| has_gateways)
}

/// Says whether the controller may write the tokens of GitHub Apps.
fn token_writer(context: &Context, key: &Key, belongings: &Belongings) -> TokenWriter {
    let Some(wanted) = &context.settings.token_writer else { return TokenWriter::NotManaged };
    let account = account(&key.namespace, &context.shared.namespace, &wanted.account);
    let is_bound = belongings
        .token_binding
        .as_ref()
        .is_some_and(|bound| bound.role == wanted.role && bound.accounts.contains(&account));
    TokenWriter::Managed { is_bound }
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
        Err(failure) => return Outcome::failed(facts, failure, Next::Rest),
    };
    facts.repository = Some(url.clone());
    let pinned = pinned(sync, &url, belongings);
    facts.host_keys = host_keys(sync, &url, pinned.clone());
    let wanted = match requested(sync, Timestamp::now()).wanted {
        Ok(wanted) => wanted,
        Err(invalid) => {
            let message = Chain(&invalid).to_string();
            let failure = Failure { reason: Reason::RefResolutionFailed, message };
            return Outcome::failed(facts, failure, Next::Rest);
        }
    };
    let credentials = match credential::digest(context, key, sync).await {
        Ok(credentials) => credentials,
        Err(failure) => return Outcome::failed(facts, failure, Next::After(SECRETS_AGAIN)),
    };
    let demand = demand(context, key, sync);
    let forgotten = forgotten(context, key, sync);
    let inquiry = Inquiry {
        context,
        key,
        sync,
        url,
        credentials,
        pinned,
        forgotten,
        demand,
        known: context.memories.with(key, |memory| memory.wanted.clone()),
        created: created(sync),
        asked: Mutex::default(),
        wanted: Mutex::default(),
    };
    let main = inquiry.resolve(&wanted).await;
    facts.is_current = main.is_current;
    if main.is_since_asked {
        facts.asked_by = Some(asked_by(sync));
    }
    if let (HostKeys::Pinned(pinned), Some(learned)) = (&mut facts.host_keys, main.host_key) {
        pinned.get_or_insert(learned);
    }
    let token = main.token.map(|token| HeldToken { of: inquiry.credentials, token });
    facts.remote = main.remote;
    let next = main.next.map_or(Next::Rest, Next::After);
    let next = next.sooner(ask_for_pods(&inquiry, facts).await);
    inquiry.settle();
    Outcome { token, next }
}

/// Asks about the refs that single pods have of their own.
async fn ask_for_pods(inquiry: &Inquiry<'_>, facts: &mut Observed) -> Next {
    let mut next = Next::Rest;
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
    next
}

/// What asking the remote brings besides facts.
struct Outcome {
    token: Option<HeldToken>,
    next: Next,
}

impl Outcome {
    /// The remote can't be asked.
    fn failed(facts: &mut Observed, failure: Failure, next: Next) -> Self {
        facts.remote = Remote::Failed(failure);
        Self { token: None, next }
    }
}

/// A Secret that is missing wakes the GatewaySync when it comes; this is for those who can't watch.
const SECRETS_AGAIN: Duration = Duration::from_secs(30);

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

/// Returns when a GatewaySync was created, by this process's clock. What a remote said before that
/// does not count for it. None where that was long before this process started.
fn created(sync: &GatewaySync) -> Option<Instant> {
    let created = sync.metadata.creation_timestamp.as_ref()?.0;
    let age = Timestamp::now().duration_since(created);
    Instant::now().checked_sub(age.max(SignedDuration::ZERO).unsigned_abs())
}

/// Returns who sent a push event that no earlier pass has seen. What is there at the start is old.
fn new_push_event(context: &Context, key: &Key, sync: &GatewaySync) -> Option<Requester> {
    let time = |at| annotation(sync, at).and_then(|text| text.parse::<Timestamp>().ok());
    let newest = time(Annotation::RecheckAt).max(time(Annotation::RequestedAt));
    let is_new = context.memories.with(key, |memory| {
        let before = memory.push_event;
        memory.push_event = newest.or(before).or(Some(Timestamp::MIN));
        before.is_some() && newest > before
    });
    let by = is_new.then(|| asked_by(sync))?;
    (by.trigger() == Trigger::Webhook).then_some(by)
}

/// Returns who asked last.
fn asked_by(sync: &GatewaySync) -> Requester {
    let time = |at| annotation(sync, at).and_then(|text| text.parse::<Timestamp>().ok());
    let by = if time(Annotation::RecheckAt) >= time(Annotation::RequestedAt) {
        Annotation::RecheckBy
    } else {
        Annotation::RequestedBy
    };
    annotation(sync, by).and_then(Requester::find).unwrap_or(Requester::Cli)
}

fn annotation(sync: &GatewaySync, annotation: Annotation) -> Option<&str> {
    let annotations = sync.metadata.annotations.as_ref()?;
    annotations.get(annotation.as_str()).map(String::as_str).filter(|text| !text.is_empty())
}

/// Returns how the receiver stands, and when to look again.
async fn receiver(context: &Context, key: &Key, sync: &GatewaySync) -> (Receiver, Next) {
    let off = (Receiver::Off, Next::Rest);
    let Some(secrets) = context.settings.receiver.secrets() else { return off };
    let webhook = sync.spec.webhook.as_ref();
    if webhook.is_some_and(|webhook| webhook.enabled == Some(false)) {
        return off;
    }
    if let Some(own) = webhook.and_then(|webhook| webhook.secret_ref.as_ref()) {
        let reference = own.resolve(SecretKey::HmacKey);
        let state = credential::push_secret(context, key, reference).await;
        let (has_key, next) = match state {
            PushSecretState::Read { has_key } => (Some(has_key), Next::Rest),
            PushSecretState::Unread { had_key } => (had_key, Next::After(SECRETS_AGAIN)),
        };
        let receiver = match has_key {
            Some(true) => Receiver::Active,
            Some(false) => Receiver::SecretNotFound,
            None => Receiver::SecretUnread,
        };
        return (receiver, next);
    }
    let receiver = match secrets {
        ReceiverSecrets::OperatorWide => Receiver::Active,
        ReceiverSecrets::Insecure => Receiver::Insecure,
        ReceiverSecrets::Nothing => Receiver::NoSecret,
    };
    (receiver, Next::Rest)
}
