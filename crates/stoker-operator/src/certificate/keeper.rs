//! Keeps Secret, webhook configurations and the loaded pair in step.

use std::pin::pin;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::runtime::watcher::{Config, watcher};
use stoker_api::chain::Chain;
use stoker_api::names::{Label, MANAGED_BY};
use stoker_runtime::Shutdown;
use stoker_runtime::admin::Check;
use stoker_runtime::lease::Leadership;
use stoker_runtime::tls::{self, Certificate};
use tokio::time::Instant;

use super::bundle::Configuration;
use super::issue;
use super::material::Material;
use super::plan::{LEAF_DAYS, Plan, decide};
use super::{Arguments, Metrics};
use crate::run::Shared;

/// How often everything is checked when nothing happens.
const INTERVAL: Duration = Duration::from_mins(1);
/// How soon a failed check is repeated.
const RETRY: Duration = Duration::from_secs(2);
/// How soon a Secret is read again that another instance wrote first.
const RACED: Duration = Duration::from_millis(200);
/// How long the API servers get to hear of a new CA before a pair of it is served.
const SETTLE: Duration = Duration::from_secs(10);
/// How long the API servers get to hear of a new CA before this instance is ready.
const HEARD: Duration = Duration::from_secs(1);
/// A CA that was made this recently may have been written a moment ago by another instance.
const RECENT: SignedDuration = SignedDuration::from_secs(30);
const WATCH_SECONDS: u32 = 290;

/// Why a check failed.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("failed to read or write the Secret {name:?}")]
    Secret { name: String, source: Box<kube::Error> },
    #[error("another instance wrote the Secret {name:?} first")]
    Raced { name: String },
    #[error("failed to write the CA into the webhook configuration {name:?}")]
    Configuration { name: String, source: Box<kube::Error> },
    #[error("failed to make a certificate")]
    Issue(#[source] rcgen::Error),
    #[error("failed to load the certificate")]
    Load(#[source] tls::Error),
}

/// Keeps everything in step.
pub(super) struct Keeper {
    secrets: Api<Secret>,
    secret: String,
    names: Vec<String>,
    configurations: Vec<Configuration>,
    leadership: Leadership,
    certificate: Certificate,
    check: Check,
    metrics: Metrics,
    loaded: Option<Material>,
    trusted: Option<Trusted>,
}

/// A CA, and since when every webhook configuration has carried it.
struct Trusted {
    authority: String,
    since: Instant,
    /// The API servers may not have heard of it yet.
    is_new: bool,
}

impl Keeper {
    pub(super) fn new(
        shared: Shared,
        arguments: &Arguments,
        check: Check,
        metrics: Metrics,
    ) -> Self {
        let client = shared.client;
        let mutating = arguments.webhook_configuration.as_deref();
        let validating = arguments.validating_webhook_configuration.as_deref();
        let kinds = [
            ("MutatingWebhookConfiguration", mutating),
            ("ValidatingWebhookConfiguration", validating),
        ];
        let configurations = kinds
            .into_iter()
            .filter_map(|(kind, name)| Some(Configuration::new(client.clone(), kind, name?)))
            .collect();
        Self {
            secrets: Api::namespaced(client, &shared.namespace),
            secret: arguments.certificate_secret.clone(),
            names: arguments.names(&shared.namespace),
            configurations,
            leadership: shared.leadership,
            certificate: shared.certificate,
            check,
            metrics,
            loaded: None,
            trusted: None,
        }
    }

    /// Checks whenever something changed, and once a minute.
    pub(super) async fn run(mut self, shutdown: Shutdown) {
        let mut changes = pin!(self.changes());
        loop {
            let pause = match self.step().await {
                Ok(pause) => pause,
                // What the other instance wrote is read at once.
                Err(error @ Error::Raced { .. }) => {
                    tracing::debug!(error = %Chain(&error), "reading the certificate again");
                    RACED
                }
                Err(error) => {
                    let text = Chain(&error).to_string();
                    tracing::warn!(error = text, "failed to keep the webhook's certificate");
                    if self.loaded.is_none() {
                        self.check.fail(text);
                    }
                    RETRY
                }
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                Some(()) = changes.next() => {}
                () = shutdown.requested() => return,
            }
        }
    }

    /// Returns an item whenever the Secret or a webhook configuration changed.
    fn changes(&self) -> impl futures::Stream<Item = ()> + use<> {
        let by_name = |name: &str| {
            Config::default().fields(&format!("metadata.name={name}")).timeout(WATCH_SECONDS)
        };
        let secret = watcher(self.secrets.clone(), by_name(&self.secret)).then(settle).boxed();
        let configurations = self.configurations.iter().map(|configuration| {
            watcher(configuration.api.clone(), by_name(&configuration.name)).then(settle).boxed()
        });
        stream::select_all(configurations.chain([secret]).collect::<Vec<_>>())
    }

    /// Brings everything in step once, and says when to look again.
    async fn step(&mut self) -> Result<Duration, Error> {
        let material = self.material().await?;
        let is_written = self.trust(&material).await?;
        let (since, is_new) = match &self.trusted {
            Some(trusted) if !is_written && trusted.authority == material.authority.certificate => {
                (trusted.since, trusted.is_new)
            }
            _ => (Instant::now(), is_written || is_recent(&material)),
        };
        let authority = material.authority.certificate.clone();
        self.trusted = Some(Trusted { authority, since, is_new });
        let is_same_authority = self
            .loaded
            .as_ref()
            .is_none_or(|loaded| loaded.authority.certificate == material.authority.certificate);
        let settled = since.elapsed();
        if !is_same_authority && settled < SETTLE {
            return Ok(SETTLE.saturating_sub(settled));
        }
        self.load(material)?;
        if is_new && settled < HEARD {
            return Ok(HEARD.saturating_sub(settled));
        }
        self.check.pass();
        Ok(INTERVAL)
    }

    /// Returns what is in the Secret, renewed where that is due.
    async fn material(&self) -> Result<Material, Error> {
        let object = self.secrets.get_opt(&self.secret).await.map_err(|it| self.secret(it))?;
        let current = object.as_ref().and_then(Material::read);
        let now = Timestamp::now();
        let plan = decide(current.as_ref(), &self.names, now);
        let next = match (plan, current) {
            (Plan::Keep, Some(current)) => return Ok(current),
            // Only the leader renews; whoever finds nothing at all makes a first pair.
            (_, Some(current)) if !self.leadership.is_held() => return Ok(current),
            (Plan::DropPrevious, Some(current)) => Material { previous: String::new(), ..current },
            (Plan::ReplaceLeaf, Some(current)) => {
                let leaf = issue::leaf(&current.authority, &self.names, now);
                Material { leaf: leaf.map_err(Error::Issue)?, ..current }
            }
            (_, current) => {
                let previous = match current {
                    Some(current) => current.authority.certificate,
                    None => self.trusted_now().await?,
                };
                issue::create(&self.names, previous, now).map_err(Error::Issue)?
            }
        };
        self.write(object, &next).await?;
        tracing::info!(secret = self.secret, plan = ?plan, "renewed the webhook's certificate");
        Ok(next)
    }

    /// Returns the CA that the webhook configurations trust: replicas may still serve a pair of it.
    async fn trusted_now(&self) -> Result<String, Error> {
        for configuration in &self.configurations {
            let trusted = configuration.trusted().await;
            let trusted = trusted.map_err(|source| configuration_failed(configuration, source))?;
            if let Some(trusted) = trusted.filter(|it| it.starts_with("-----BEGIN CERTIFICATE")) {
                return Ok(trusted);
            }
        }
        Ok(String::new())
    }

    async fn write(&self, object: Option<Secret>, material: &Material) -> Result<(), Error> {
        let parameters = PostParams::default();
        let written = match object {
            Some(mut object) => {
                object.data = Some(material.data());
                self.secrets.replace(&self.secret, &parameters, &object).await
            }
            None => self.secrets.create(&parameters, &self.object(material)).await,
        };
        match written {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 409 => {
                Err(Error::Raced { name: self.secret.clone() })
            }
            Err(source) => Err(self.secret(source)),
        }
    }

    fn object(&self, material: &Material) -> Secret {
        let label = (Label::ManagedBy.as_str().to_owned(), MANAGED_BY.to_owned());
        Secret {
            metadata: ObjectMeta {
                name: Some(self.secret.clone()),
                labels: Some([label].into()),
                ..ObjectMeta::default()
            },
            type_: Some("kubernetes.io/tls".to_owned()),
            data: Some(material.data()),
            ..Secret::default()
        }
    }

    /// Writes the CAs into the webhook configurations. Says whether something was written.
    async fn trust(&self, material: &Material) -> Result<bool, Error> {
        let bundle = material.bundle();
        let mut is_written = false;
        for configuration in &self.configurations {
            let written = configuration.trust(&bundle).await;
            if written.map_err(|source| configuration_failed(configuration, source))? {
                tracing::info!(name = configuration.name, "wrote the CA of the webhook");
                is_written = true;
            }
        }
        Ok(is_written)
    }

    fn load(&mut self, material: Material) -> Result<(), Error> {
        if self.loaded.as_ref().is_some_and(|loaded| loaded.leaf == material.leaf) {
            return Ok(());
        }
        let leaf = &material.leaf;
        let swapped = self.certificate.swap(leaf.certificate.as_bytes(), leaf.key.reveal());
        swapped.map_err(Error::Load)?;
        self.metrics
            .expiry
            .set((leaf.made + SignedDuration::from_hours(24 * LEAF_DAYS)).as_second());
        self.loaded = Some(material);
        Ok(())
    }

    fn secret(&self, source: kube::Error) -> Error {
        Error::Secret { name: self.secret.clone(), source: Box::new(source) }
    }
}

fn is_recent(material: &Material) -> bool {
    Timestamp::now().duration_since(material.authority.made) < RECENT
}

fn configuration_failed(configuration: &Configuration, source: kube::Error) -> Error {
    Error::Configuration { name: configuration.name.clone(), source: Box::new(source) }
}

/// A watch that fails is tried again; the check once a minute works without it.
async fn settle<T>(event: Result<T, kube::runtime::watcher::Error>) {
    if event.is_err() {
        tokio::time::sleep(RETRY).await;
    }
}
