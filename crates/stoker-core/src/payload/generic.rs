//! `{"ref": "v2.0.0"}`, for scripts: with `at` (RFC 3339) an older one can't undo a newer one.

use stoker_api::condition::Requester;

use super::{Delivery, Event, Hint};

pub(super) fn read(delivery: &Delivery<'_>) -> Option<Hint> {
    let wanted = delivery.text("ref")?;
    let event = match wanted {
        "" => Event::Nothing("the ref is empty"),
        wanted => Event::Request(wanted.to_owned()),
    };
    let repository = delivery.text("repository").map(str::to_owned);
    Some(Hint { source: Requester::Generic, repository, event, at: delivery.time("at") })
}
