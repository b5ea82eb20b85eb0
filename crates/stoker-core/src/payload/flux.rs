//! Flux notification-controller, providers `generic` and `generic-hmac`.
//!
//! Its events carry a revision such as `main@sha1:4b14d…`: what a source saw, which is a reason to
//! ask the remote, and not a ref to be requested.

use stoker_api::condition::Requester;

use super::{Delivery, Event, Hint, event_of};

pub(super) fn read(delivery: &Delivery<'_>) -> Option<Hint> {
    let is_flux = delivery.header("gotk-component").is_some()
        || (delivery.text("reportingController").is_some()
            && delivery.text("involvedObject/kind").is_some());
    if !is_flux {
        return None;
    }
    let paths = [
        "metadata/revision",
        "metadata/source.toolkit.fluxcd.io/revision",
        "metadata/kustomize.toolkit.fluxcd.io/revision",
    ];
    let revision = paths.iter().find_map(|path| delivery.text(path));
    let event = revision.map_or(Event::Nothing("the event names no revision"), moved);
    Some(Hint { source: Requester::Flux, repository: None, event, at: None })
}

fn moved(revision: &str) -> Event {
    let name = revision.split_once('@').map_or(revision, |(name, _)| name);
    if name.is_empty() || name.contains(':') {
        return Event::Nothing("the revision names no branch and no tag");
    }
    if name.starts_with("refs/") {
        return event_of(name);
    }
    Event::branch(name)
}
