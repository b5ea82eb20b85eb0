//! Kargo promotions: the freight's first commit, by tag, then id, then branch.

use stoker_api::condition::Requester;

use super::{Delivery, Event, Format, Hint};

/// Kargo.
#[derive(Debug)]
pub(super) struct Kargo;

impl Format for Kargo {
    fn source(&self) -> Requester {
        Requester::Kargo
    }

    fn read(&self, delivery: &Delivery<'_>) -> Option<Hint> {
        let commit = |field: &str| {
            let text = delivery.text(&format!("freight/commits/0/{field}"));
            text.filter(|text| !text.is_empty())
        };
        let wanted = commit("tag").or_else(|| commit("id")).or_else(|| commit("branch"))?;
        let event = Event::Request(wanted.to_owned());
        Some(Hint { source: self.source(), repository: None, event, at: delivery.time("at") })
    }
}
