//! Azure DevOps service hooks: `git.push`.

use stoker_api::condition::Requester;

use super::scan::LISTED;
use super::{Delivery, Event, Hint, is_zero};

pub(super) fn read(delivery: &Delivery<'_>) -> Option<Hint> {
    let kind = delivery.text("eventType")?;
    delivery.text("publisherId").filter(|publisher| *publisher == "tfs")?;
    let event = if kind == "git.push" {
        pushed(delivery)
    } else {
        Event::Nothing("this kind of event asks for nothing")
    };
    let repository = delivery.text("resource/repository/remoteUrl").and_then(path_of);
    Some(Hint { source: Requester::Azuredevops, repository, event, at: None })
}

fn pushed(delivery: &Delivery<'_>) -> Event {
    let update =
        |index: usize, field: &str| delivery.text(&format!("resource/refUpdates/{index}/{field}"));
    let live = (0..LISTED).filter(|index| !is_zero(update(*index, "newObjectId")));
    let names: Vec<&str> = live.filter_map(|index| update(index, "name")).collect();
    let under = |prefix: &str| -> Vec<String> {
        names.iter().filter_map(|full| full.strip_prefix(prefix)).map(str::to_owned).collect()
    };
    Event::push(under("refs/heads/"), under("refs/tags/"))
}

/// Returns the path of an HTTPS URL. The host is not looked at.
fn path_of(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let (_, path) = rest.split_once('/')?;
    Some(path.to_owned())
}
