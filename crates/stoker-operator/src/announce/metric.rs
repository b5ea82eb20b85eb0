//! The metrics of the controller.
//!
//! What is known of each GatewaySync is kept once, without labels, and written out when someone reads
//! the metrics: a series that is kept for each gateway would take more memory than the gateway.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use stoker_api::condition::{ConditionType, Reason, SyncStatus};
use stoker_core::reconcile::Verdict;
use stoker_core::status::condition;

use crate::controller::Key;

const SECONDS: [f64; 11] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0];

/// The metrics of the controller. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Metrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    reconciles: Family<ResultLabel, Counter>,
    reconcile_seconds: Histogram,
    queries: Family<ResultLabel, Counter>,
    resolve_seconds: Histogram,
    evictions: Counter,
    emergency: Gauge,
    fleet: Arc<Fleet>,
}

/// What the last passes found.
#[derive(Debug, Default)]
struct Fleet(Mutex<BTreeMap<Key, Seen>>);

/// What the last pass over a GatewaySync found.
#[derive(Debug, Default)]
struct Seen {
    is_ready: bool,
    is_paused: bool,
    discovered: i64,
    synced: i64,
    missing: i64,
    git_ref: Option<Box<str>>,
    /// Which conditions there are, and whether they are True.
    conditions: Vec<(ConditionType, bool)>,
    gateways: Vec<SeenGateway>,
    token_expiry: Option<i64>,
}

#[derive(Debug)]
struct SeenGateway {
    pod: Box<str>,
    status: SyncStatus,
    synced_at: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabel {
    result: &'static str,
}

impl Metrics {
    /// Registers the metrics.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let inner = Inner {
            reconciles: Family::default(),
            reconcile_seconds: Histogram::new(SECONDS),
            queries: Family::default(),
            resolve_seconds: Histogram::new(SECONDS),
            evictions: Counter::default(),
            emergency: Gauge::default(),
            fleet: Arc::default(),
        };
        let registry = registry.sub_registry_with_prefix("stoker_controller");
        registry.register("reconcile", "Passes over GatewaySyncs", inner.reconciles.clone());
        let text = "How long a pass takes";
        registry.register("reconcile_duration_seconds", text, inner.reconcile_seconds.clone());
        registry.register("remote_queries", "Queries of git remotes", inner.queries.clone());
        let text = "How long a query of a git remote takes";
        registry.register("ref_resolve_duration_seconds", text, inner.resolve_seconds.clone());
        let text = "Pods that were evicted, so that their successors get an agent";
        registry.register("evictions", text, inner.evictions.clone());
        let text = "Whether every GatewaySync is stopped";
        registry.register("emergency_stop", text, inner.emergency.clone());
        registry.register_collector(Box::new(Arc::clone(&inner.fleet)));
        Self(Arc::new(inner))
    }

    /// Takes note of the emergency stop.
    pub(crate) fn stopped(&self, is_stopped: bool) {
        self.0.emergency.set(is_stopped.into());
    }

    /// Counts a pod that was evicted.
    pub(crate) fn evicted(&self) {
        self.0.evictions.inc();
    }

    /// Counts a pass.
    pub(crate) fn reconciled(&self, took: Duration, is_ok: bool) {
        self.0.reconciles.get_or_create(&ResultLabel::of(is_ok)).inc();
        self.0.reconcile_seconds.observe(took.as_secs_f64());
    }

    /// Counts a query of a remote.
    pub(crate) fn queried(&self, is_ok: bool, took: Duration) {
        self.0.queries.get_or_create(&ResultLabel::of(is_ok)).inc();
        self.0.resolve_seconds.observe(took.as_secs_f64());
    }

    /// Takes over what a pass found.
    pub(crate) fn observe(&self, key: &Key, verdict: &Verdict) {
        let mut fleet = self.0.fleet.lock();
        let token_expiry = fleet.get(key).and_then(|seen| seen.token_expiry);
        fleet.insert(key.clone(), Seen { token_expiry, ..Seen::of(verdict) });
    }

    /// Takes note that a GatewaySync is not ready, because a pass failed or it can't be read.
    pub(crate) fn not_ready(&self, key: &Key) {
        let mut fleet = self.0.fleet.lock();
        let seen = fleet.entry(key.clone()).or_default();
        seen.is_ready = false;
        seen.conditions.retain(|(kind, _)| *kind != ConditionType::Ready);
        seen.conditions.push((ConditionType::Ready, false));
    }

    /// Takes note of when the token of a GitHub App ends; none where there is no App.
    pub(crate) fn token_expires(&self, key: &Key, at: Option<Timestamp>) {
        if let Some(seen) = self.0.fleet.lock().get_mut(key) {
            seen.token_expiry = at.map(Timestamp::as_second);
        }
    }

    /// Takes note of a GatewaySync that has every series.
    #[cfg(test)]
    pub(crate) fn observe_sample(&self) {
        let status = SyncStatus::Synced;
        let gateway = SeenGateway { pod: "ignition-0".into(), status, synced_at: Some(1) };
        let seen = Seen {
            git_ref: Some("main".into()),
            conditions: vec![(ConditionType::Ready, true)],
            gateways: vec![gateway],
            token_expiry: Some(1),
            ..Seen::default()
        };
        self.0.fleet.lock().insert(Key::new("line", "plant"), seen);
    }

    /// Drops the series of a GatewaySync that is gone.
    pub(crate) fn forget(&self, key: &Key) {
        self.0.fleet.lock().remove(key);
    }
}

impl Fleet {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Seen>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collector for Fleet {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let fleet = self.lock();
        let of_sync =
            |key: &Key| [("namespace", key.namespace.clone()), ("name", key.name.clone())];
        let mut gauges = |name, text, series: &mut dyn Iterator<Item = (Vec<Label>, i64)>| {
            let mut series = series.peekable();
            if series.peek().is_none() {
                return Ok(());
            }
            let mut family = encoder.encode_descriptor(name, text, None, MetricType::Gauge)?;
            series
                .try_for_each(|(labels, value)| family.encode_family(&labels)?.encode_gauge(&value))
        };
        for (name, text, read) in PER_SYNC {
            let series = fleet.iter().filter_map(|(key, seen)| Some((of_sync(key), read(seen)?)));
            gauges(name, text, &mut series.map(|(labels, value)| (labels.into(), value)))?;
        }
        let with = |key: &Key, more: &[(&'static str, &str)]| -> Vec<Label> {
            let more = more.iter().map(|(name, value)| (*name, (*value).to_owned()));
            of_sync(key).into_iter().chain(more).collect()
        };
        let mut series = fleet.iter().filter_map(|(key, seen)| {
            Some((with(key, &[("git_ref", seen.git_ref.as_deref()?)]), 1))
        });
        gauges("cr_info", "What a GatewaySync wants", &mut series)?;
        let mut series = fleet.iter().flat_map(|(key, seen)| {
            let conditions = seen.conditions.iter();
            conditions.map(|(kind, is_true)| {
                (with(key, &[("condition", kind.as_str())]), i64::from(*is_true))
            })
        });
        gauges("condition_status", "Whether a condition is True", &mut series)?;
        let mut series = fleet.iter().flat_map(|(key, seen)| {
            let gateways = seen.gateways.iter();
            gateways.map(|it| (with(key, &[("pod", &*it.pod), ("status", it.status.as_str())]), 1))
        });
        gauges("gateway_sync_status", "How a gateway stands", &mut series)?;
        let mut series = fleet.iter().flat_map(|(key, seen)| {
            let gateways = seen.gateways.iter();
            gateways.filter_map(|it| Some((with(key, &[("pod", &*it.pod)]), it.synced_at?)))
        });
        let text = "When a gateway was last synced";
        gauges("gateway_last_sync_timestamp_seconds", text, &mut series)
    }
}

type Label = (&'static str, String);

/// A gauge of each GatewaySync: its name, its text, and how it is read.
type PerSync = (&'static str, &'static str, fn(&Seen) -> Option<i64>);

const PER_SYNC: [PerSync; 6] = [
    ("gateways_discovered", "Gateways that were found", |seen| Some(seen.discovered)),
    ("gateways_synced", "Gateways that are synced", |seen| Some(seen.synced)),
    ("gateways_missing_sidecar", "Gateways without an agent", |seen| Some(seen.missing)),
    ("cr_ready", "Whether a GatewaySync is ready", |seen| Some(seen.is_ready.into())),
    ("cr_paused", "Whether a GatewaySync is paused", |seen| Some(seen.is_paused.into())),
    ("github_app_token_expiry_timestamp_seconds", "When the token of a GitHub App ends", |seen| {
        seen.token_expiry
    }),
];

impl Seen {
    fn of(verdict: &Verdict) -> Self {
        let ready = condition(&verdict.status, ConditionType::Ready);
        let counts = verdict.status.gateways.unwrap_or_default();
        let missing =
            verdict.gateways.iter().filter(|it| it.status == SyncStatus::MissingSidecar).count();
        let present = ConditionType::ALL.iter().filter_map(|kind| {
            condition(&verdict.status, *kind).map(|found| (*kind, found.status == "True"))
        });
        let gateways = verdict.gateways.iter().map(|gateway| SeenGateway {
            pod: gateway.pod.name.as_str().into(),
            status: gateway.status,
            synced_at: gateway
                .report
                .as_ref()
                .and_then(|it| it.synced_at)
                .map(Timestamp::as_second),
        });
        Self {
            is_ready: ready.is_some_and(|ready| ready.status == "True"),
            is_paused: ready.is_some_and(|ready| ready.reason == Reason::Paused.as_str()),
            discovered: counts.discovered.into(),
            synced: counts.synced.into(),
            missing: i64::try_from(missing).unwrap_or(i64::MAX),
            git_ref: verdict.status.resolved_ref.as_deref().map(Into::into),
            conditions: present.collect(),
            gateways: gateways.collect(),
            token_expiry: None,
        }
    }
}

impl ResultLabel {
    fn of(is_ok: bool) -> Self {
        Self { result: if is_ok { "success" } else { "error" } }
    }
}
