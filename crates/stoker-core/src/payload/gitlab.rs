//! GitLab: push, tag push, release.

use jiff::Timestamp;
use stoker_api::condition::Requester;

use super::{Delivery, Event, Hint, event_of, is_zero};

pub(super) fn read(delivery: &Delivery<'_>) -> Option<Hint> {
    delivery.header("x-gitlab-event")?;
    let event = match delivery.text("object_kind").or(delivery.text("event_name"))? {
        "push" | "tag_push" => moved(delivery),
        "release" => released(delivery),
        _ => Event::Nothing("this kind of event asks for nothing"),
    };
    Some(Hint {
        source: Requester::Gitlab,
        repository: delivery.text("project/path_with_namespace").map(str::to_owned),
        event,
        at: delivery.text("released_at").and_then(time),
    })
}

/// GitLab writes `2026-05-15 15:20:53 UTC`.
fn time(text: &str) -> Option<Timestamp> {
    let text = text.strip_suffix(" UTC").map_or_else(|| text.to_owned(), |it| format!("{it}Z"));
    text.parse().ok()
}

fn moved(delivery: &Delivery<'_>) -> Event {
    if is_zero(delivery.text("after")) {
        return Event::Nothing("the ref was deleted");
    }
    delivery.text("ref").map_or(Event::Nothing("the push names no ref"), event_of)
}

fn released(delivery: &Delivery<'_>) -> Event {
    if delivery.text("action") != Some("create") {
        return Event::Nothing("the release was not published just now");
    }
    match delivery.text("tag") {
        Some(tag) => Event::Request(tag.to_owned()),
        None => Event::Nothing("the release names no tag"),
    }
}
