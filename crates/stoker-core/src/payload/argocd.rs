//! Argo CD notifications: the template sends the Application with the annotation `git.ref`.

use stoker_api::condition::Requester;

use super::{Delivery, Event, Hint};

pub(super) fn read(delivery: &Delivery<'_>) -> Option<Hint> {
    let wanted = delivery.text("app/metadata/annotations/git.ref")?;
    let at = delivery.time("at");
    let event = Event::Request(wanted.to_owned());
    Some(Hint { source: Requester::Argocd, repository: None, event, at })
}
