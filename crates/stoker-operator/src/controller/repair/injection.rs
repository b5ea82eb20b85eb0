//! Pods that lack an agent, or whose agent is out of date.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::Api;
use stoker_api::GatewaySync;
use stoker_api::condition::EventReason;
use stoker_api::names::{Annotation, Label, REPAIRS_CONFIG_MAP};
use stoker_core::admission::{self, Policy, World};
use stoker_core::gateway::needs_restart;
use stoker_core::reconcile::{Event, Regarding, Severity};
use stoker_core::repair::{Outlook, Scope, Wait, Workload, outlook};

use super::{Context, INTERVAL, Need, Watchdog, Webhook, follow};
use crate::controller::cache::Key;
use crate::controller::pod;

/// The path of the injection webhook.
const PATH: &str = "/mutate-v1-pod";

/// How pods are repaired that need a restart.
#[derive(Debug, Clone, clap::Args)]
#[group(id = "missed-pods")]
pub(crate) struct Arguments {
    /// What happens to pods that lack an agent or need another one: nothing, a log line, or an
    /// eviction
    #[arg(long, env = "STOKER_REPAIR", value_name = "MODE", default_value = "report")]
    pub(crate) repair: Mode,

    /// How many pods are evicted per minute, at most
    #[arg(
        long,
        env = "STOKER_REPAIR_RATE",
        value_name = "COUNT",
        default_value_t = 6,
        value_parser = clap::value_parser!(u16).range(1..=600)
    )]
    pub(crate) repair_rate: u16,
}

/// What happens to pods that need a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Mode {
    /// Nothing; status and metrics show them
    Off,
    /// They are logged
    Report,
    /// They are evicted, where their workload creates them again and every budget allows it
    Evict,
}

/// What repair was told.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) mode: Mode,
    /// The least time between two evictions.
    pub(crate) interval: Duration,
    /// What happens to pods with a wrong configuration, where their namespace does not say.
    pub(crate) policy: Policy,
    /// The `MutatingWebhookConfiguration` of the webhook.
    pub(crate) webhook: Option<String>,
}

/// The watchdog of injection.
pub(crate) struct Injection<'a>(pub(crate) &'a Context);

/// A pod's UID, and the GatewaySync that it belongs to.
#[derive(Debug, Clone)]
pub(crate) struct Injected {
    pub(crate) uid: String,
    pub(crate) sync: Arc<GatewaySync>,
}

impl Settings {
    /// Takes what repair needs from the arguments.
    pub(crate) fn new(arguments: &crate::args::Arguments) -> Self {
        let Arguments { repair, repair_rate } = arguments.controller.repair;
        Self {
            mode: repair,
            interval: Duration::from_mins(1) / u32::from(repair_rate),
            policy: arguments.admission.policy(),
            webhook: arguments.certificate.webhook_configuration.clone(),
        }
    }
}

impl Injection<'_> {
    /// Repairs pods or logs them, while this instance leads.
    pub(crate) async fn follow(&self) {
        match self.0.settings.repair.mode {
            Mode::Off => std::future::pending().await,
            Mode::Report => self.report().await,
            Mode::Evict => follow(self.0, self).await,
        }
    }

    /// Logs every pod once.
    async fn report(&self) {
        let mut reported: HashSet<String> = HashSet::new();
        loop {
            tokio::time::sleep(INTERVAL).await;
            let needs = self.needs();
            reported.retain(|uid| needs.iter().any(|need| need.subject.uid == *uid));
            for need in needs {
                if reported.insert(need.subject.uid) {
                    let (Key { namespace, name }, cause) = (&need.pod, need.cause.word);
                    tracing::warn!(%namespace, name, cause, "a pod needs a restart");
                }
            }
        }
    }
}

impl Watchdog for Injection<'_> {
    type Subject = Injected;

    fn record(&self) -> &'static str {
        REPAIRS_CONFIG_MAP
    }

    fn interval(&self) -> Duration {
        self.0.settings.repair.interval
    }

    fn needs(&self) -> Vec<Need<Injected>> {
        self.0.cache.needs()
    }

    fn is_meant(&self, need: &Need<Injected>, pod: &Pod) -> bool {
        let sync = self.0.shared.defaults.merged(Arc::clone(&need.subject.sync));
        is_meant(&need.subject.uid, pod, &sync, &self.0.settings.admission)
    }

    async fn look_ahead(
        &self,
        need: &Need<Injected>,
        workload: &Workload,
    ) -> kube::Result<Outlook> {
        let (context, namespace) = (self.0, &need.pod.namespace);
        let client = &context.shared.client;
        let name = context.settings.repair.webhook.as_deref();
        let webhook = Webhook::read(client, name, PATH).await?;
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let labels = namespaces.get_metadata(namespace).await?.metadata.labels;
        let labels = labels.unwrap_or_default();
        let policy = match labels.get(Label::InjectionPolicy.as_str()).map(String::as_str) {
            Some("strict") => Policy::Strict,
            Some("lenient") => Policy::Lenient,
            _ => context.settings.repair.policy,
        };
        let annotations = workload.template.metadata.iter().flat_map(|it| &it.annotations);
        let profile =
            annotations.into_iter().find_map(|it| it.get(Annotation::SyncProfile.as_str()));
        let key = |name: &String| Key::new(namespace, name);
        let world = World {
            syncs: vec![&need.subject.sync],
            has_sync_profile: profile.is_none_or(|it| context.cache.profile(&key(it)).is_some()),
            is_complete: true,
        };
        let scope = Scope { selector: webhook.selector.as_ref(), labels: &labels, policy };
        let found = outlook(&workload.template, &world, &context.settings.admission, scope);
        if found == Outlook::Useful && !webhook.works().await {
            return Ok(Outlook::Wait(Wait::Webhook));
        }
        Ok(found)
    }

    fn announce(&self, need: &Need<Injected>, uid: &str) {
        let announcer = &self.0.announcer;
        announcer.evicted();
        let reason = match need.cause.word {
            "missing-agent" => "it has no agent",
            _ => "its agent is out of date",
        };
        let name = &need.pod.name;
        let event = Event {
            severity: Severity::Normal,
            reason: EventReason::PodEvicted,
            note: format!("evicted pod {name}: {reason}"),
            regarding: Regarding::Pod { name: name.clone(), uid: uid.to_owned() },
        };
        announcer.tell(&need.subject.sync, &event);
    }
}

/// Says whether a pod that was just read is the one with this UID, and needs a restart.
///
/// What the status says may be about the pod that had this name before.
fn is_meant(uid: &str, pod: &Pod, sync: &GatewaySync, settings: &admission::Settings) -> bool {
    let reduced = pod::reduced(pod).filter(|pod| pod.uid == uid);
    reduced.is_some_and(|pod| needs_restart(&pod, sync, settings))
}

#[cfg(test)]
mod tests {
    use stoker_testkit::object::{gateway_pod, gateway_sync};

    use super::*;

    // A StatefulSet's pod keeps its name, and the status may be about the pod before it.
    #[test]
    fn a_pod_with_the_right_agent_stays_whatever_the_status_says_of_its_name() {
        let sync = gateway_sync("plant").build();
        let settings = |image: &str| admission::Settings {
            default_image: image.parse().unwrap(),
            allowed_repositories: Vec::new(),
            pull_secrets: Vec::new(),
        };
        let one = settings("registry.example.com/agent:1");
        let two = settings("registry.example.com/agent:2");
        let mut pod = gateway_pod("ignition-0").cr("plant").injected().build();
        pod.metadata.uid = Some("new".to_owned());
        let is_meant = |pod: &Pod, settings| is_meant("new", pod, &sync, settings);
        assert!(is_meant(&pod, &one), "the agent of the Go operator");
        let placement = pod::reduced(&pod).unwrap().injected.unwrap().placement.unwrap();
        let hash = placement.expected(None, &sync, &one).unwrap().hash;
        let annotations = pod.metadata.annotations.as_mut().unwrap();
        annotations.insert(Annotation::InjectedHash.as_str().to_owned(), hash);
        assert!(!is_meant(&pod, &one));
        assert!(is_meant(&pod, &two));
        let mut missed = gateway_pod("ignition-0").cr("plant").build();
        missed.metadata.uid = Some("new".to_owned());
        assert!(is_meant(&missed, &one));
        missed.metadata.uid = Some("another".to_owned());
        assert!(!is_meant(&missed, &one));
    }
}
