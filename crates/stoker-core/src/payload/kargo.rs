//! Kargo promotions: the freight's first commit, by tag, then id, then branch.

use stoker_api::condition::Requester;

use super::{Delivery, Event, Hint};

pub(super) fn read(delivery: &Delivery<'_>) -> Option<Hint> {
    let commit = |field: &str| {
        let text = delivery.text(&format!("freight/commits/0/{field}"));
        text.filter(|text| !text.is_empty())
    };
    let wanted = commit("tag").or_else(|| commit("id")).or_else(|| commit("branch"))?;
    let event = Event::Request(wanted.to_owned());
    Some(Hint { source: Requester::Kargo, repository: None, event, at: delivery.time("at") })
}
