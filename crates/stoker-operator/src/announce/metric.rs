//! The metrics of the controller.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
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
    discovered: Family<SyncLabels, Gauge>,
    synced: Family<SyncLabels, Gauge>,
    missing: Family<SyncLabels, Gauge>,
    ready: Family<SyncLabels, Gauge>,
    paused: Family<SyncLabels, Gauge>,
    token_expiry: Family<SyncLabels, Gauge>,
    info: Family<InfoLabels, Gauge>,
    conditions: Family<ConditionLabels, Gauge>,
    gateways: Family<GatewayLabels, Gauge>,
    last_syncs: Family<PodLabels, Gauge>,
    evictions: Counter,
    emergency: Gauge,
    series: Mutex<HashMap<Key, Series>>,
}

/// The series of one GatewaySync that have labels beyond its name.
#[derive(Debug, Default)]
struct Series {
    info: Option<InfoLabels>,
    conditions: HashSet<ConditionLabels>,
    gateways: HashSet<GatewayLabels>,
    pods: HashSet<PodLabels>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabel {
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SyncLabels {
    namespace: String,
    name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InfoLabels {
    namespace: String,
    name: String,
    git_ref: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ConditionLabels {
    namespace: String,
    name: String,
    condition: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct GatewayLabels {
    namespace: String,
    name: String,
    pod: String,
    status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PodLabels {
    namespace: String,
    name: String,
    pod: String,
}

impl Metrics {
    /// Registers the metrics.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let inner = Inner {
            reconciles: Family::default(),
            reconcile_seconds: Histogram::new(SECONDS),
            queries: Family::default(),
            resolve_seconds: Histogram::new(SECONDS),
            discovered: Family::default(),
            synced: Family::default(),
            missing: Family::default(),
            ready: Family::default(),
            paused: Family::default(),
            token_expiry: Family::default(),
            info: Family::default(),
            conditions: Family::default(),
            gateways: Family::default(),
            last_syncs: Family::default(),
            evictions: Counter::default(),
            emergency: Gauge::default(),
            series: Mutex::default(),
        };
        let registry = registry.sub_registry_with_prefix("stoker_controller");
        registry.register("reconcile", "Passes over GatewaySyncs", inner.reconciles.clone());
        let text = "How long a pass takes";
        registry.register("reconcile_duration_seconds", text, inner.reconcile_seconds.clone());
        registry.register("remote_queries", "Queries of git remotes", inner.queries.clone());
        let text = "How long a query of a git remote takes";
        registry.register("ref_resolve_duration_seconds", text, inner.resolve_seconds.clone());
        let per_sync = [
            ("gateways_discovered", "Gateways that were found", &inner.discovered),
            ("gateways_synced", "Gateways that are synced", &inner.synced),
            ("gateways_missing_sidecar", "Gateways without an agent", &inner.missing),
            ("cr_ready", "Whether a GatewaySync is ready", &inner.ready),
            ("cr_paused", "Whether a GatewaySync is paused", &inner.paused),
            (
                "github_app_token_expiry_timestamp_seconds",
                "When the token of a GitHub App ends",
                &inner.token_expiry,
            ),
        ];
        for (name, text, family) in per_sync {
            registry.register(name, text, family.clone());
        }
        registry.register("cr_info", "What a GatewaySync wants", inner.info.clone());
        let text = "Whether a condition is True";
        registry.register("condition_status", text, inner.conditions.clone());
        let text = "How a gateway stands";
        registry.register("gateway_sync_status", text, inner.gateways.clone());
        let text = "When a gateway was last synced";
        registry.register("gateway_last_sync_timestamp_seconds", text, inner.last_syncs.clone());
        let text = "Pods that were evicted, so that their successors get an agent";
        registry.register("evictions", text, inner.evictions.clone());
        let text = "Whether every GatewaySync is stopped";
        registry.register("emergency_stop", text, inner.emergency.clone());
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
        let inner = &*self.0;
        let labels = SyncLabels::of(key);
        let ready = condition(&verdict.status, ConditionType::Ready);
        let is_ready = ready.is_some_and(|ready| ready.status == "True");
        let is_paused = ready.is_some_and(|ready| ready.reason == Reason::Paused.as_str());
        let counts = verdict.status.gateways.unwrap_or_default();
        let missing =
            verdict.gateways.iter().filter(|it| it.status == SyncStatus::MissingSidecar).count();
        let set = |family: &Family<SyncLabels, Gauge>, value: i64| {
            family.get_or_create(&labels).set(value);
        };
        set(&inner.discovered, counts.discovered.into());
        set(&inner.synced, counts.synced.into());
        set(&inner.missing, i64::try_from(missing).unwrap_or(i64::MAX));
        set(&inner.ready, is_ready.into());
        set(&inner.paused, is_paused.into());
        let mut series = inner.series.lock().unwrap_or_else(PoisonError::into_inner);
        let before = series.remove(key).unwrap_or_default();
        let now = Series::of(key, verdict);
        inner.replace(&before, &now, verdict, key);
        series.insert(key.clone(), now);
    }

    /// Takes note of when the token of a GitHub App ends; none where there is no App.
    pub(crate) fn token_expires(&self, key: &Key, at: Option<Timestamp>) {
        let (family, labels) = (&self.0.token_expiry, SyncLabels::of(key));
        match at {
            Some(at) => drop(family.get_or_create(&labels).set(at.as_second())),
            None => drop(family.remove(&labels)),
        }
    }

    /// Drops the series of a GatewaySync that is gone.
    pub(crate) fn forget(&self, key: &Key) {
        let inner = &*self.0;
        let labels = SyncLabels::of(key);
        for family in [
            &inner.discovered,
            &inner.synced,
            &inner.missing,
            &inner.ready,
            &inner.paused,
            &inner.token_expiry,
        ] {
            family.remove(&labels);
        }
        let gone = inner.series.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        inner.drop_missing(&gone.unwrap_or_default(), &Series::default());
    }
}

impl Inner {
    fn replace(&self, before: &Series, now: &Series, verdict: &Verdict, key: &Key) {
        self.drop_missing(before, now);
        if let Some(info) = &now.info {
            self.info.get_or_create(info).set(1);
        }
        for labels in &now.conditions {
            let found = verdict.status.conditions.iter().find(|it| it.type_ == labels.condition);
            let is_true = found.is_some_and(|found| found.status == "True");
            self.conditions.get_or_create(labels).set(is_true.into());
        }
        for labels in &now.gateways {
            self.gateways.get_or_create(labels).set(1);
        }
        for gateway in &verdict.gateways {
            let report = gateway.report.as_ref();
            if let Some(at) = report.and_then(|report| report.synced_at) {
                let labels = PodLabels::of(key, &gateway.pod.name);
                self.last_syncs.get_or_create(&labels).set(at.as_second());
            }
        }
    }

    fn drop_missing(&self, before: &Series, now: &Series) {
        if let Some(info) = before.info.as_ref().filter(|info| now.info.as_ref() != Some(info)) {
            self.info.remove(info);
        }
        for labels in before.conditions.difference(&now.conditions) {
            self.conditions.remove(labels);
        }
        for labels in before.gateways.difference(&now.gateways) {
            self.gateways.remove(labels);
        }
        for labels in before.pods.difference(&now.pods) {
            self.last_syncs.remove(labels);
        }
    }
}

impl Series {
    fn of(key: &Key, verdict: &Verdict) -> Self {
        let (namespace, name) = (key.namespace.clone(), key.name.clone());
        let git_ref = verdict.status.resolved_ref.clone();
        let condition = |kind: &ConditionType| ConditionLabels {
            namespace: namespace.clone(),
            name: name.clone(),
            condition: kind.as_str(),
        };
        let present = |kind: &&ConditionType| condition_exists(verdict, **kind);
        let gateways = verdict.gateways.iter();
        Self {
            info: git_ref.map(|git_ref| InfoLabels {
                namespace: namespace.clone(),
                name: name.clone(),
                git_ref,
            }),
            conditions: ConditionType::ALL.iter().filter(present).map(condition).collect(),
            gateways: gateways
                .clone()
                .map(|gateway| GatewayLabels {
                    namespace: namespace.clone(),
                    name: name.clone(),
                    pod: gateway.pod.name.clone(),
                    status: gateway.status.as_str(),
                })
                .collect(),
            pods: gateways.map(|gateway| PodLabels::of(key, &gateway.pod.name)).collect(),
        }
    }
}

fn condition_exists(verdict: &Verdict, kind: ConditionType) -> bool {
    condition(&verdict.status, kind).is_some()
}

impl ResultLabel {
    fn of(is_ok: bool) -> Self {
        Self { result: if is_ok { "success" } else { "error" } }
    }
}

impl SyncLabels {
    fn of(key: &Key) -> Self {
        Self { namespace: key.namespace.clone(), name: key.name.clone() }
    }
}

impl PodLabels {
    fn of(key: &Key, pod: &str) -> Self {
        Self { namespace: key.namespace.clone(), name: key.name.clone(), pod: pod.to_owned() }
    }
}
