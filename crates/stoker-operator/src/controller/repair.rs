//! Restarts pods that lack an agent, or whose agent is out of date, by the Eviction API only.
//!
//! `stoker_core::repair` decides. This part reads what the decision needs, writes the record before
//! it evicts, and leaves the rest to the workload that owns the pod. A `PodDisruptionBudget` has the
//! last word: the API server refuses, and the pod is looked at again.
//!
//! While no pod needs a restart, nothing is read.

mod examine;
mod record;
mod webhook;

use std::collections::HashMap;
use std::time::Duration;

use kube::api::{Api, PostParams};
use kube::client::Client;
use serde_json::{Value, json};
use stoker_api::GatewaySync;
use stoker_api::chain::Chain;
use stoker_api::condition::EventReason;
use stoker_core::admission::Policy;
use stoker_core::gateway::Pod;
use stoker_core::reconcile::{Event, Regarding, Severity};
use stoker_core::repair::{Cause, Verdict, Wait};
use tokio::time::Instant;

use super::Context;
use examine::{Examined, examine};

/// How often the cache is searched for pods that need a restart.
const INTERVAL: Duration = Duration::from_secs(5);
/// How soon a pod is looked at again that has to wait.
const WAIT: Duration = Duration::from_secs(10);
/// How soon a pod is looked at again for which people have to do something.
const LEAVE: Duration = Duration::from_mins(10);
/// Pods that are looked at in one round, so that a long outage costs the API server little.
const LOOKS: usize = 20;
const WITHIN: Duration = Duration::from_secs(15);

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

/// A pod that needs a restart.
#[derive(Debug, Clone)]
pub(crate) struct Need {
    pub(crate) pod: Pod,
    /// The GatewaySync that it belongs to.
    pub(crate) sync: std::sync::Arc<GatewaySync>,
    pub(crate) cause: Cause,
}

/// What was found about a pod, and when it is looked at again.
struct Looked {
    result: String,
    again: Instant,
}

/// What became of an eviction.
enum Evicted {
    Done,
    /// A `PodDisruptionBudget` does not allow it now.
    Refused,
    /// The pod is another one by now, or gone.
    Gone,
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

/// Repairs pods, while this instance leads.
pub(crate) async fn follow(context: &Context) {
    if context.settings.repair.mode == Mode::Off {
        return std::future::pending().await;
    }
    let mut looked = HashMap::new();
    let mut pause = INTERVAL;
    loop {
        tokio::time::sleep(pause).await;
        pause = INTERVAL;
        let needs = context.cache.needs();
        looked.retain(|uid: &String, _| needs.iter().any(|need| need.pod.uid == *uid));
        if context.settings.repair.mode == Mode::Report {
            report(&needs, &mut looked);
        // While everything is stopped, nothing is restarted.
        } else if context.cache.emergency().is_none() {
            let is_evicted = Box::pin(repair(context, &needs, &mut looked)).await;
            if is_evicted {
                pause = context.settings.repair.interval.min(INTERVAL);
            }
        }
    }
}

/// Logs every pod once.
fn report(needs: &[Need], looked: &mut HashMap<String, Looked>) {
    for need in needs {
        let now = Instant::now();
        let result = "reported".to_owned();
        if looked.insert(need.pod.uid.clone(), Looked { result, again: now }).is_none() {
            let Need { pod, cause, .. } = need;
            let (namespace, name, cause) = (&pod.namespace, &pod.name, cause.word);
            tracing::warn!(%namespace, name, cause, "a pod needs a restart");
        }
    }
}

/// Looks at pods until one was evicted, and says whether one was.
async fn repair(context: &Context, needs: &[Need], looked: &mut HashMap<String, Looked>) -> bool {
    let now = Instant::now();
    let is_due = |need: &&Need| looked.get(&need.pod.uid).is_none_or(|it| it.again <= now);
    let due: Vec<&Need> = needs.iter().filter(is_due).take(LOOKS).collect();
    for need in due {
        let found = tokio::time::timeout(WITHIN, Box::pin(attend(context, need))).await;
        let (result, pause) = match found {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => (Chain(&error).to_string(), WAIT),
            Err(_) => ("the API server did not answer in time".to_owned(), WAIT),
        };
        let is_evicted = result == EVICTED;
        let last = Looked { result, again: Instant::now() + pause };
        announce(context, need, &last, looked.get(&need.pod.uid));
        looked.insert(need.pod.uid.clone(), last);
        if is_evicted {
            return true;
        }
    }
    false
}

const EVICTED: &str = "evicted";

/// Examines one pod, and evicts it if that is the verdict.
async fn attend(context: &Context, need: &Need) -> kube::Result<(String, Duration)> {
    let Some(examined) = examine(context, need).await? else {
        return Ok(("the pod is gone".to_owned(), WAIT));
    };
    let Examined { pod, workload, mut record, verdict } = examined;
    let workload = match (&verdict, &workload) {
        (Verdict::Evict, Some(workload)) => workload,
        (Verdict::Leave(_), _) => return Ok((verdict.to_string(), LEAVE)),
        (Verdict::Wait(Wait::Rate), _) => {
            return Ok((verdict.to_string(), context.settings.repair.interval));
        }
        (Verdict::Wait(_) | Verdict::Evict, _) => return Ok((verdict.to_string(), WAIT)),
    };
    if context.check_leading().is_err() {
        return Ok(("this instance does not lead".to_owned(), WAIT));
    }
    record.add(context, need, &pod, workload).await?;
    Ok(match evict(&context.shared.client, need).await? {
        Evicted::Done => (EVICTED.to_owned(), WAIT),
        Evicted::Refused => ("a PodDisruptionBudget does not allow it now".to_owned(), WAIT),
        Evicted::Gone => ("the pod is gone".to_owned(), WAIT),
    })
}

/// Asks for the eviction of exactly this pod.
async fn evict(client: &Client, need: &Need) -> kube::Result<Evicted> {
    let Pod { namespace, name, uid, .. } = &need.pod;
    let api: Api<k8s_openapi::api::core::v1::Pod> = Api::namespaced(client.clone(), namespace);
    // `Api::evict` of the library loses the precondition.
    let body = json!({
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": { "name": name, "namespace": namespace },
        "deleteOptions": { "preconditions": { "uid": uid } },
    });
    let created: kube::Result<Value> =
        api.create_subresource("eviction", name, &PostParams::default(), &body).await;
    match created {
        Ok(_) => Ok(Evicted::Done),
        Err(kube::Error::Api(status)) if status.code == 429 => Ok(Evicted::Refused),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(Evicted::Gone),
        Err(error) => Err(error),
    }
}

/// Tells what was found, where that is new.
fn announce(context: &Context, need: &Need, now: &Looked, before: Option<&Looked>) {
    if before.is_some_and(|before| before.result == now.result) {
        return;
    }
    let Need { pod, cause, sync } = need;
    let (namespace, name, cause, result) = (&pod.namespace, &pod.name, cause.word, &now.result);
    tracing::info!(%namespace, name, cause, result, "a pod needs a restart");
    if result != EVICTED {
        return;
    }
    context.announcer.evicted();
    let reason = match cause {
        "missing-agent" => "it has no agent",
        _ => "its agent is out of date",
    };
    let event = Event {
        severity: Severity::Normal,
        reason: EventReason::PodEvicted,
        note: format!("evicted pod {name}: {reason}"),
        regarding: Regarding::Pod { name: name.clone(), uid: pod.uid.clone() },
    };
    context.announcer.tell(sync, &event);
}
