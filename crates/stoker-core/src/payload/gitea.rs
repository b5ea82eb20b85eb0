//! Gitea, Forgejo and Gogs: push, create, release.

use stoker_api::condition::Requester;

use super::{Delivery, Event, Hint, create, push, release};

pub(super) fn read(delivery: &Delivery<'_>) -> Option<Hint> {
    let names = ["x-gitea-event", "x-forgejo-event", "x-gogs-event"];
    let event = match names.iter().find_map(|name| delivery.header(name))? {
        "push" => push(delivery),
        "create" => create(delivery),
        "release" => release(delivery),
        "delete" => Event::Nothing("the ref was deleted"),
        _ => Event::Nothing("this kind of event asks for nothing"),
    };
    Some(Hint {
        source: Requester::Gitea,
        repository: delivery.text("repository/full_name").map(str::to_owned),
        event,
        at: delivery.time("release/published_at"),
    })
}
