//! What the receiver counts.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use stoker_api::condition::Requester;

type Labels = [(&'static str, String); 2];

/// What the receiver counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Metrics {
    requests: Family<Labels, Counter>,
}

impl Metrics {
    /// Registers the metrics.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.sub_registry_with_prefix("stoker_webhook").register(
            "receiver_requests",
            "Push events by source and status code",
            metrics.requests.clone(),
        );
        metrics
    }

    /// Counts a response.
    pub(crate) fn count(&self, source: Option<Requester>, code: u16) {
        let source = source.map_or("unknown", Requester::as_str);
        let labels = [("source", source.to_owned()), ("code", code.to_string())];
        self.requests.get_or_create(&labels).inc();
    }
}
