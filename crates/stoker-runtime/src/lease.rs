//! Leader election by a Lease object, on monotonic time.
//!
//! # Flow
//! Every instance reads the Lease every [`Timing::retry`]. An instance takes it when it is free,
//! or when it has not changed for [`Timing::duration`] since this instance first saw it in that
//! form. The leader writes it every [`Timing::retry`].
//!
//! # Promises
//! Clocks of different hosts are never compared: what is in `renewTime` is for people. Every write
//! carries the resourceVersion that was read, so that two instances can't both succeed. A leader
//! that could not renew for [`Timing::renew_within`], for example because the process was stopped,
//! is not the leader any more, whether its task has run or not. [`Leadership::release`] hands the
//! Lease over at once.
//!
//! # When it fails
//! An API server that is away costs the leader its term after [`Timing::renew_within`]; the
//! others wait [`Timing::duration`] from the last change that they saw.

mod decision;

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, Resource as _};
use stoker_api::chain::Chain;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use decision::{Action, Observation, decide};

/// How long things take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// How long a Lease must stay unchanged before another instance takes it.
    pub duration: Duration,
    /// How long a leader leads after its last renewal.
    pub renew_within: Duration,
    /// How often the Lease is read or renewed.
    pub retry: Duration,
}

/// Which Lease, and who asks for it.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    pub name: String,
    /// The name of this instance: different for every process.
    pub identity: String,
    /// How long things take.
    pub timing: Timing,
}

/// Says whether this instance leads. Clones say the same.
#[derive(Debug, Clone)]
pub struct Leadership {
    standing: watch::Receiver<Standing>,
    release: mpsc::Sender<oneshot::Sender<()>>,
}

/// Whether and how long an instance leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Standing {
    until: Option<Instant>,
    term: i32,
}

struct Election {
    api: Api<Lease>,
    settings: Settings,
    standing: watch::Sender<Standing>,
    seen: Option<Observation>,
    held: Option<Lease>,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(15),
            renew_within: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        }
    }
}

impl Settings {
    /// Returns settings with the usual timing.
    pub fn new(namespace: &str, name: &str, identity: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            identity: identity.to_owned(),
            timing: Timing::default(),
        }
    }
}

impl Leadership {
    /// Asks for the Lease from now on, in a task of its own, until it is released or every clone
    /// is dropped.
    pub fn seek(client: Client, settings: Settings) -> Self {
        let (sender, standing) = watch::channel(Standing::default());
        let (release, requests) = mpsc::channel(1);
        let api = Api::namespaced(client, &settings.namespace);
        let election = Election { api, settings, standing: sender, seen: None, held: None };
        tokio::spawn(election.run(requests));
        Self { standing, release }
    }

    /// Returns a leadership that never holds, for a process that is no candidate.
    pub fn never() -> Self {
        let (_, standing) = watch::channel(Standing::default());
        let (release, _) = mpsc::channel(1);
        Self { standing, release }
    }

    /// Returns a leadership that always holds, for a single instance without election.
    pub fn always() -> Self {
        let far = Instant::now() + Duration::from_hours(100 * 365 * 24);
        let (sender, standing) = watch::channel(Standing { until: Some(far), term: 0 });
        let (release, mut requests) = mpsc::channel::<oneshot::Sender<()>>(1);
        tokio::spawn(async move {
            while let Some(done) = requests.recv().await {
                sender.send_replace(Standing::default());
                done.send(()).ok();
            }
        });
        Self { standing, release }
    }

    /// Says whether this instance leads at this moment.
    pub fn is_held(&self) -> bool {
        self.standing.borrow().is_held()
    }

    /// Returns how often the Lease has changed hands: larger in every later term.
    pub fn term(&self) -> i32 {
        self.standing.borrow().term
    }

    /// Waits until this instance leads. Never returns when the Lease was released.
    pub async fn acquired(&self) {
        let mut standing = self.standing.clone();
        if standing.wait_for(Standing::is_held).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until this instance does not lead.
    pub async fn lost(&self) {
        let mut standing = self.standing.clone();
        loop {
            let Some(until) = standing.borrow_and_update().until else { return };
            if until <= Instant::now() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep_until(until) => {}
                changed = standing.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Gives the Lease back, so that another instance takes it at once. Call it when this
    /// instance has stopped writing.
    pub async fn release(&self) {
        let (done, released) = oneshot::channel();
        if self.release.send(done).await.is_ok() {
            released.await.ok();
        }
    }
}

impl Standing {
    fn is_held(&self) -> bool {
        self.until.is_some_and(|until| until > Instant::now())
    }
}

impl Election {
    async fn run(mut self, mut requests: mpsc::Receiver<oneshot::Sender<()>>) {
        loop {
            let within = self.settings.timing.renew_within;
            match tokio::time::timeout(within, self.attempt()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => self.failed(&Chain(&error).to_string()),
                Err(_) => self.failed("the API server did not answer in time"),
            }
            // Up to a fifth more, so that instances do not ask in step.
            let pause = self.settings.timing.retry.mul_f64(1.0 + fastrand::f64() / 5.0);
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                request = requests.recv() => {
                    self.give_back().await;
                    if let Some(done) = request {
                        done.send(()).ok();
                    }
                    return;
                }
            }
        }
    }

    /// Renews, takes, or looks at the Lease once.
    async fn attempt(&mut self) -> kube::Result<()> {
        let asked_at = Instant::now();
        let (action, lease) = match self.held.take() {
            Some(held) => (Action::Renew, Some(held)),
            None => self.observe(asked_at).await?,
        };
        let next = match action {
            Action::Wait => return Ok(()),
            Action::Create => self.lease(None, false),
            Action::Take => self.lease(lease, true),
            Action::Renew => self.lease(lease, false),
        };
        let parameters = PostParams::default();
        let written = if matches!(action, Action::Create) {
            self.api.create(&parameters, &next).await
        } else {
            self.api.replace(&self.settings.name, &parameters, &next).await
        };
        match written {
            Ok(written) => {
                self.won(asked_at, written);
                Ok(())
            }
            // Another instance was faster. What it wrote is read in the next round.
            Err(kube::Error::Api(status)) if status.code == 409 => {
                self.resign();
                Ok(())
            }
            Err(error) => {
                // The write may have arrived: the next round reads, and renews what is ours.
                Err(error)
            }
        }
    }

    async fn observe(&mut self, now: Instant) -> kube::Result<(Action, Option<Lease>)> {
        let lease = self.api.get_opt(&self.settings.name).await?;
        let action = decide(lease.as_ref(), self.seen.as_ref(), &self.settings, now);
        let version = lease.as_ref().and_then(|lease| lease.metadata.resource_version.clone());
        if self.seen.as_ref().is_none_or(|seen| seen.version != version) {
            self.seen = Some(Observation { version, at: now });
        }
        Ok((action, lease))
    }

    fn won(&mut self, asked_at: Instant, written: Lease) {
        let term = written.spec.as_ref().and_then(|spec| spec.lease_transitions).unwrap_or(0);
        let until = asked_at + self.settings.timing.renew_within;
        let before = self.standing.send_replace(Standing { until: Some(until), term });
        self.held = Some(written);
        if !before.is_held() {
            tracing::info!(lease = self.settings.name, term, "became the leader");
        }
    }

    fn failed(&mut self, error: &str) {
        self.held = None;
        tracing::warn!(lease = self.settings.name, error, "failed to read or renew the lease");
        if !self.standing.borrow().is_held() {
            self.resign();
        }
    }

    fn resign(&mut self) {
        self.held = None;
        let before = self.standing.send_replace(Standing::default());
        if before.until.is_some() {
            tracing::warn!(lease = self.settings.name, "lost the leadership");
        }
    }

    async fn give_back(&mut self) {
        let held = self.held.take();
        self.standing.send_replace(Standing::default());
        let Some(mut lease) = held else { return };
        if let Some(spec) = &mut lease.spec {
            spec.holder_identity = Some(String::new());
            spec.lease_duration_seconds = Some(1);
            spec.renew_time = Some(MicroTime(Timestamp::now()));
        }
        let parameters = PostParams::default();
        let replaced = self.api.replace(&self.settings.name, &parameters, &lease);
        let within = self.settings.timing.retry;
        let released = tokio::time::timeout(within, replaced).await;
        if matches!(released, Ok(Ok(_))) {
            tracing::info!(lease = self.settings.name, "released the lease");
        } else {
            tracing::warn!(lease = self.settings.name, "failed to release the lease");
        }
    }

    /// Builds the Lease as this instance holds it.
    fn lease(&self, current: Option<Lease>, taken: bool) -> Lease {
        let now = MicroTime(Timestamp::now());
        let mut lease = current.unwrap_or_else(|| Lease {
            metadata: ObjectMeta {
                name: Some(self.settings.name.clone()),
                ..ObjectMeta::default()
            },
            spec: None,
        });
        lease.meta_mut().managed_fields = None;
        let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
        if spec.holder_identity.as_deref() != Some(&self.settings.identity) {
            spec.acquire_time = Some(now.clone());
            spec.holder_identity = Some(self.settings.identity.clone());
        }
        if taken {
            spec.lease_transitions = Some(spec.lease_transitions.unwrap_or(0).saturating_add(1));
        }
        let seconds = self.settings.timing.duration.as_secs().max(1);
        spec.lease_duration_seconds = Some(i32::try_from(seconds).unwrap_or(i32::MAX));
        spec.renew_time = Some(now);
        lease
    }
}

#[cfg(test)]
mod tests;
