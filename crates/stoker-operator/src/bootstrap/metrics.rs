//! What bootstrap counts.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Seconds of the webhook's histogram: up to the timeout.
const REVIEW: [f64; 8] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.2, 1.0];
/// Seconds of the copies' histogram.
const LAG: [f64; 8] = [0.05, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];

type Labelled<T> = Family<[(&'static str, &'static str); 1], T>;

/// What bootstrap counts. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Metrics {
    reviews: Labelled<Counter>,
    review_seconds: Histogram,
    writes: Labelled<Counter>,
    lag: Histogram,
    waiting: Gauge,
    conflicts: Gauge,
    pods: Labelled<Gauge>,
    evictions: Counter,
}

impl Metrics {
    /// Registers the metrics.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            reviews: Family::default(),
            review_seconds: Histogram::new(REVIEW),
            writes: Family::default(),
            lag: Histogram::new(LAG),
            waiting: Gauge::default(),
            conflicts: Gauge::default(),
            pods: Family::default(),
            evictions: Counter::default(),
        };
        let registry = registry.sub_registry_with_prefix("stoker_bootstrap");
        let text = "Pods that were reviewed for bootstrap, by result";
        registry.register("reviews", text, metrics.reviews.clone());
        let text = "How long the review of a pod for bootstrap took";
        registry.register("review_duration_seconds", text, metrics.review_seconds.clone());
        let text = "Copies that were written, removed or could not be, by result";
        registry.register("copies", text, metrics.writes.clone());
        let text = "How long a namespace waited for a copy that was due";
        registry.register("copy_lag_seconds", text, metrics.lag.clone());
        let text = "Namespaces that wait for a copy";
        registry.register("namespaces_waiting", text, metrics.waiting.clone());
        let text = "Copies that another object of the same name keeps out";
        registry.register("copy_conflicts", text, metrics.conflicts.clone());
        let text = "Pods by how they relate to the policy";
        registry.register("pods", text, metrics.pods.clone());
        let text = "Pods that were evicted, so that their successors follow the policy";
        registry.register("evictions", text, metrics.evictions.clone());
        metrics
    }

    /// Counts a review.
    pub(super) fn reviewed(&self, result: &'static str, took: Duration) {
        self.reviews.get_or_create(&[("result", result)]).inc();
        self.review_seconds.observe(took.as_secs_f64());
    }

    /// Counts what was done with a copy.
    pub(super) fn copied(&self, result: &'static str) {
        self.writes.get_or_create(&[("result", result)]).inc();
    }

    /// Observes how long a copy was due.
    pub(super) fn lagged(&self, lag: Duration) {
        self.lag.observe(lag.as_secs_f64());
    }

    /// Sets how many namespaces wait, and how many copies are kept out.
    pub(super) fn copies(&self, waiting: usize, conflicts: usize) {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.waiting.set(number(waiting));
        self.conflicts.set(number(conflicts));
    }

    /// Counts a pod that was evicted.
    pub(super) fn evicted(&self) {
        self.evictions.inc();
    }

    /// Sets how many pods have a standing.
    pub(super) fn pods(&self, standing: &'static str, count: usize) {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        self.pods.get_or_create(&[("standing", standing)]).set(count);
    }
}
