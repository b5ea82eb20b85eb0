//! Bitbucket Cloud (`repo:push`) and Bitbucket Server (`repo:refs_changed`).

use stoker_api::condition::Requester;

use super::scan::LISTED;
use super::{Delivery, Event, Hint};

pub(super) fn read(delivery: &Delivery<'_>) -> Option<Hint> {
    let (event, repository) = match delivery.header("x-event-key")? {
        "repo:push" => (cloud(delivery), delivery.text("repository/full_name").map(str::to_owned)),
        "repo:refs_changed" => (server(delivery), of_server(delivery)),
        "diagnostics:ping" => (Event::Nothing("a ping"), None),
        _ => (Event::Nothing("this kind of event asks for nothing"), None),
    };
    Some(Hint { source: Requester::Bitbucket, repository, event, at: None })
}

fn of_server(delivery: &Delivery<'_>) -> Option<String> {
    let project = delivery.text("repository/project/key")?;
    Some(format!("{project}/{}", delivery.text("repository/slug")?))
}

fn cloud(delivery: &Delivery<'_>) -> Event {
    let change =
        |index: usize, field: &str| delivery.text(&format!("push/changes/{index}/new/{field}"));
    let of_kind = |kind: &str| -> Vec<String> {
        let matching = (0..LISTED).filter(|index| change(*index, "type") == Some(kind));
        matching.filter_map(|index| change(index, "name")).map(str::to_owned).collect()
    };
    Event::push(of_kind("branch"), of_kind("tag"))
}

fn server(delivery: &Delivery<'_>) -> Event {
    let change = |index: usize, field: &str| delivery.text(&format!("changes/{index}/{field}"));
    let live = (0..LISTED).filter(|index| change(*index, "type") != Some("DELETE"));
    let refs: Vec<&str> = live.filter_map(|index| change(index, "ref/id")).collect();
    let under = |prefix: &str| {
        refs.iter().filter_map(|full| full.strip_prefix(prefix)).map(str::to_owned).collect()
    };
    Event::push(under("refs/heads/"), under("refs/tags/"))
}
