//! What the proxy has seen: every request, in order, and the watches that are open.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use tokio::sync::Notify;

use super::request::ApiRequest;
use super::rule::Match;

/// One request that reached the proxy.
#[derive(Clone, Debug)]
pub struct Seen {
    /// What was asked.
    pub request: ApiRequest,
    /// The answer's code; `None` while there is none, and for ever if the connection was cut first.
    pub status: Option<u16>,
}

/// Requests and open watches.
#[derive(Debug, Default)]
pub(super) struct Journal {
    /// How many entries were forgotten: ids go on counting.
    forgotten: usize,
    seen: Vec<Seen>,
    watches: BTreeMap<usize, OpenWatch>,
}

#[derive(Debug)]
struct OpenWatch {
    request: ApiRequest,
    cut: Arc<Notify>,
}

impl Journal {
    pub(super) fn record(&mut self, request: ApiRequest) -> usize {
        self.seen.push(Seen { request, status: None });
        self.forgotten + self.seen.len() - 1
    }

    pub(super) fn answered(&mut self, id: usize, status: u16) {
        let entry = id.checked_sub(self.forgotten).and_then(|index| self.seen.get_mut(index));
        if let Some(entry) = entry {
            entry.status = Some(status);
        }
    }

    pub(super) fn forget(&mut self) {
        self.forgotten += self.seen.len();
        self.seen.clear();
    }

    pub(super) fn seen(&self) -> &[Seen] {
        &self.seen
    }

    pub(super) fn count(&self, want: &Match) -> usize {
        self.seen.iter().filter(|seen| want.fits(&seen.request)).count()
    }

    pub(super) fn tally(&self) -> BTreeMap<String, usize> {
        let mut tally = BTreeMap::new();
        for seen in &self.seen {
            let key = format!("{} {}", seen.request.verb, seen.request.resource);
            *tally.entry(key).or_default() += 1;
        }
        tally
    }

    pub(super) fn watch_opened(&mut self, id: usize, request: ApiRequest) -> Arc<Notify> {
        let cut = Arc::new(Notify::new());
        self.watches.insert(id, OpenWatch { request, cut: Arc::clone(&cut) });
        cut
    }

    pub(super) fn watch_closed(&mut self, id: usize) {
        self.watches.remove(&id);
    }

    pub(super) fn open_watches(&self, want: &Match) -> usize {
        self.watches.values().filter(|watch| want.fits(&watch.request)).count()
    }

    pub(super) fn cut_watches(&self, want: &Match) -> usize {
        let matching = self.watches.values().filter(|watch| want.fits(&watch.request));
        matching.map(|watch| watch.cut.notify_one()).count()
    }

    /// Prints what there is, for the message of a wait that ended in vain.
    pub(super) fn describe(&self) -> String {
        let mut text = String::new();
        for Seen { request, status } in &self.seen {
            let status = status.map_or("no answer".to_owned(), |code| code.to_string());
            writeln!(text, "  {request} -> {status}").expect("a string takes any text");
        }
        for watch in self.watches.values() {
            writeln!(text, "  open: {}", watch.request).expect("a string takes any text");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use hyper::Method;

    use super::*;
    use crate::proxy::Verb;

    fn list_pods() -> ApiRequest {
        ApiRequest::parse(&Method::GET, &"/api/v1/pods".parse().unwrap())
    }

    #[test]
    fn an_answer_to_a_forgotten_request_is_no_answer_to_a_later_one() {
        let mut journal = Journal::default();
        let old = journal.record(list_pods());
        journal.forget();
        let new = journal.record(list_pods());
        journal.answered(old, 500);
        assert_eq!(journal.seen()[0].status, None);
        journal.answered(new, 200);
        assert_eq!(journal.seen()[0].status, Some(200));
        assert_eq!(journal.count(&Match::verb(Verb::List)), 1);
    }

    #[test]
    fn the_tally_is_by_verb_and_resource() {
        let mut journal = Journal::default();
        journal.record(list_pods());
        journal.record(list_pods());
        assert_eq!(journal.tally(), BTreeMap::from([("list pods".to_owned(), 2)]));
    }
}
