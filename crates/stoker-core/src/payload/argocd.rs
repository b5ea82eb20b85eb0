//! Argo CD notifications: the template sends the Application with the annotation `git.ref`.

use stoker_api::condition::Requester;

use super::{Delivery, Event, Format, Hint};

/// Argo CD.
#[derive(Debug)]
pub(super) struct Argocd;

impl Format for Argocd {
    fn source(&self) -> Requester {
        Requester::Argocd
    }

    fn read(&self, delivery: &Delivery<'_>) -> Option<Hint> {
        let wanted = delivery.text("app/metadata/annotations/git.ref")?;
        let at = delivery.time("at");
        let event = Event::Request(wanted.to_owned());
        Some(Hint { source: self.source(), repository: None, event, at })
    }
}
