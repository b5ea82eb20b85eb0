//! What the admission webhook counts.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Seconds of the histogram's buckets: from half a millisecond to the webhook's timeout.
const BUCKETS: [f64; 10] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 2.0];

/// What the admission webhook counts.
#[derive(Debug, Clone)]
pub(crate) struct Metrics {
    injections: Family<[(&'static str, &'static str); 1], Counter>,
    duration: Histogram,
}

impl Metrics {
    /// Registers the metrics.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let injections = Family::default();
        let duration = Histogram::new(BUCKETS);
        let registry = registry.sub_registry_with_prefix("stoker_webhook");
        registry.register(
            "injector_injections",
            "Pods that were reviewed, by result",
            injections.clone(),
        );
        registry.register(
            "injector_duration_seconds",
            "How long the review of a pod took",
            duration.clone(),
        );
        Self { injections, duration }
    }

    /// Counts a review.
    pub(crate) fn count(&self, result: &'static str, took: Duration) {
        self.injections.get_or_create(&[("result", result)]).inc();
        self.duration.observe(took.as_secs_f64());
    }
}
