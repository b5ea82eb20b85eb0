//! Restarts pods that were created without the policy, or with an older one, where the policy asks
//! for that.
//!
//! The watchdog of `crate::controller::repair` evicts them; this part names them, and says what
//! their successors would get. One instance does it for the whole cluster: the one whose shard
//! holds the policy.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::ResourceExt as _;
use kube::api::Api;
use stoker_api::condition::EventReason;
use stoker_api::names::BOOTSTRAP_REPAIRS_CONFIG_MAP;
use stoker_api::podbootstrap::POLICY_NAME;
use stoker_core::bootstrap::{self, Standing, selects};
use stoker_core::repair::{Outlook, Wait, Workload};

use super::Bootstrap;
use crate::controller::repair::{Need, Watchdog, Webhook};

/// The path of the bootstrap webhook.
const PATH: &str = "/bootstrap-v1-pod";

impl Watchdog for Bootstrap {
    type Subject = ();

    fn record(&self) -> &'static str {
        BOOTSTRAP_REPAIRS_CONFIG_MAP
    }

    fn interval(&self) -> Duration {
        let in_force = self.0.view.in_force();
        let rate = in_force.map_or(1, |in_force| in_force.policy.max_per_minute.max(1));
        Duration::from_mins(1) / rate
    }

    fn needs(&self) -> Vec<Need<()>> {
        let Some((in_force, mark)) = self.0.view.in_force().zip(self.mark()) else {
            return Vec::new();
        };
        // Without the certificates of the source it is not known which pods are stale.
        let source = self.0.sources.get(bootstrap::Copied::CaBundle);
        if in_force.policy.has_ca() && source.content().is_none() {
            return Vec::new();
        }
        let cause = |standing| bootstrap::cause(standing, &in_force.policy, &mark);
        if !self.holds_policy()
            || [Standing::Missed, Standing::Stale].into_iter().all(|it| cause(it).is_none())
        {
            return Vec::new();
        }
        let found = self.0.census.find(|standing| cause(standing).is_some());
        let need = |(pod, standing)| Some(Need { pod, cause: cause(standing)?, subject: () });
        found.into_iter().filter_map(need).collect()
    }

    fn is_meant(&self, need: &Need<()>, pod: &Pod) -> bool {
        let Some((in_force, mark)) = self.0.view.in_force().zip(self.mark()) else { return false };
        let standing = self.standing(&pod.metadata);
        let cause = standing.and_then(|it| bootstrap::cause(it, &in_force.policy, &mark));
        cause.as_ref() == Some(&need.cause)
    }

    async fn look_ahead(&self, need: &Need<()>, workload: &Workload) -> kube::Result<Outlook> {
        let client = &self.0.client;
        let name = &need.pod.namespace;
        let webhook = Webhook::read(client, self.0.webhook.as_deref(), PATH).await?;
        let api: Api<Namespace> = Api::all(client.clone());
        let read = api.get_metadata(name).await?.metadata;
        let none = BTreeMap::new();
        let labels = read.labels.as_ref().unwrap_or(&none);
        if webhook.selector.as_ref().is_some_and(|selector| !selects(selector, labels)) {
            return Ok(Outlook::Useless("the webhook does not serve the namespace".to_owned()));
        }
        let Some((in_force, mark)) = self.0.view.in_force().zip(self.mark()) else {
            return Ok(Outlook::Useless("no policy is in force".to_owned()));
        };
        let certificates = self.0.view.certificates(name);
        let space = bootstrap::Namespace {
            name,
            annotations: read.annotations.as_ref().unwrap_or(&none),
            certificates: certificates.as_deref(),
        };
        let found = bootstrap::outlook(&workload.template, space, &in_force.policy, &mark);
        if found == Outlook::Useful && !webhook.works().await {
            return Ok(Outlook::Wait(Wait::Webhook));
        }
        Ok(found)
    }

    fn announce(&self, need: &Need<()>, _uid: &str) {
        self.0.metrics.evicted();
        let (pod, why) = (&need.pod, need.cause.word);
        let text = match why {
            "bootstrap-missed" => format!("evicted pod {pod}: it was created without the policy"),
            _ => format!("evicted pod {pod}: it was created with an older policy"),
        };
        self.0.events.add(EventReason::PodEvicted, "Evict", text);
    }
}

impl Bootstrap {
    /// Says whether the shard of this instance holds the policy.
    fn holds_policy(&self) -> bool {
        let objects = self.0.view.objects();
        let policy = objects.iter().find(|it| it.stored.name_any() == POLICY_NAME);
        let uid = policy.and_then(|policy| policy.stored.uid());
        uid.is_some_and(|uid| self.0.shard.is_none_or(|shard| shard.holds(&uid)))
    }
}
