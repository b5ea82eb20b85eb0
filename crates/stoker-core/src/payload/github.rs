//! GitHub: push, create, release, ping.

use stoker_api::condition::Requester;

use super::{Delivery, Event, Hint, create, push, release};

pub(super) fn read(delivery: &Delivery<'_>) -> Option<Hint> {
    let event = match delivery.header("x-github-event")? {
        "push" => push(delivery),
        "create" => create(delivery),
        "release" => release(delivery),
        "ping" => Event::Nothing("a ping"),
        "delete" => Event::Nothing("the ref was deleted"),
        _ => Event::Nothing("this kind of event asks for nothing"),
    };
    Some(Hint {
        source: Requester::Github,
        repository: delivery.text("repository/full_name").map(str::to_owned),
        event,
        at: delivery.time("release/published_at"),
    })
}
