//! Which requests and watch events go wrong, how, and how often.

use std::time::Duration;

use super::request::{ApiRequest, Verb};

/// A pattern over requests; what it does not mention matches.
///
/// For faults in watch streams, the name is that of the object in the event.
#[derive(Clone, Debug, Default)]
pub struct Match {
    verbs: Verbs,
    resource: Option<String>,
    name: Option<String>,
}

#[derive(Clone, Copy, Debug, Default)]
enum Verbs {
    #[default]
    All,
    Writes,
    One(Verb),
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The request waits here before it goes on.
    Delay(Duration),
    /// The proxy answers with this code and a Kubernetes `Status`; the server never sees the
    /// request.
    Status(u16),
    /// As `Status`, and says when to come back (`Retry-After`, in whole seconds).
    RetryAfter(u16, u32),
    /// The connection is cut and the server never sees the request.
    CutBeforeRequest,
    /// The server does what was asked, but the connection is cut before the client hears of it.
    CutBeforeResponse,
    /// The server does what was asked; the connection is cut halfway through the answer's body. A
    /// watch is cut halfway through its first event.
    CutMidBody,
    /// Nobody ever answers, and the connection stays open. The server never sees the request.
    BlackHole,
    /// Something goes wrong inside a watch stream, also one that is already open. Such a rule
    /// counts events, not requests.
    Event(EventFault),
}

/// What goes wrong with one event of a watch stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EventFault {
    /// The event is lost, be it a change or a bookmark.
    Drop,
    /// The event is lost unless it is a bookmark: the client believes that it is up to date.
    BookmarksOnly,
    /// The event arrives twice.
    Duplicate,
    /// The event arrives after the one that follows it.
    Swap,
    /// The event, and all that follow, arrive later by this much.
    Delay(Duration),
    /// From here on the stream is open and silent, like a connection whose peer has vanished.
    Silence,
    /// In place of the event comes "410 Gone", and the stream ends.
    Gone,
    /// The connection is cut in the middle of the event's JSON.
    Cut,
}

/// The rules in force, in the order in which they were made.
#[derive(Debug, Default)]
pub(super) struct Rules {
    next: u64,
    entries: Vec<Entry>,
}

/// One rule, with what it has met so far.
#[derive(Debug)]
pub(super) struct Entry {
    id: u64,
    want: Match,
    fault: Fault,
    pub(super) skip: u64,
    pub(super) every: u64,
    pub(super) times: u64,
    met: u64,
    hits: u64,
    pub(super) is_off: bool,
}

impl Match {
    /// Matches every request.
    pub fn any() -> Self {
        Self::default()
    }

    /// Matches requests with this verb.
    pub fn verb(verb: Verb) -> Self {
        Self { verbs: Verbs::One(verb), ..Self::default() }
    }

    /// Matches requests that may change the cluster.
    pub fn writes() -> Self {
        Self { verbs: Verbs::Writes, ..Self::default() }
    }

    /// Narrows to a resource with its subresource, as in `gatewaysyncs/status`; or to a path that
    /// is no resource, as in `/version`.
    #[must_use]
    pub fn resource(self, resource: impl Into<String>) -> Self {
        Self { resource: Some(resource.into()), ..self }
    }

    /// Narrows to objects of this name.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Says whether the request fits.
    pub fn fits(&self, request: &ApiRequest) -> bool {
        let by_verb = match self.verbs {
            Verbs::All => true,
            Verbs::Writes => request.verb.is_write(),
            Verbs::One(verb) => request.verb == verb,
        };
        by_verb
            && self.resource.as_ref().is_none_or(|resource| *resource == request.resource)
            && self.name.as_ref().is_none_or(|name| Some(name) == request.name.as_ref())
    }
}

impl Rules {
    pub(super) fn add(&mut self, want: Match, fault: Fault) -> u64 {
        self.next += 1;
        let id = self.next;
        self.entries.push(Entry {
            id,
            want,
            fault,
            skip: 0,
            every: 1,
            times: u64::MAX,
            met: 0,
            hits: 0,
            is_off: false,
        });
        id
    }

    pub(super) fn entry(&mut self, id: u64) -> &mut Entry {
        let found = self.entries.iter_mut().find(|entry| entry.id == id);
        found.expect("handles are only made for rules that were added, and none is ever removed")
    }

    pub(super) fn hits(&self, id: u64) -> u64 {
        self.entries.iter().find(|entry| entry.id == id).map_or(0, |entry| entry.hits)
    }

    pub(super) fn clear(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.is_off = true);
    }

    /// Judges a request: the first fault that fires is final.
    pub(super) fn judge(&mut self, request: &ApiRequest) -> Option<Fault> {
        self.judge_if(request, |fault| !matches!(fault, Fault::Event(_)))
    }

    /// Judges an event of a watch.
    pub(super) fn judge_event(&mut self, event: &ApiRequest) -> Option<Fault> {
        self.judge_if(event, |fault| matches!(fault, Fault::Event(_)))
    }

    fn judge_if(&mut self, request: &ApiRequest, concerns: fn(&Fault) -> bool) -> Option<Fault> {
        let mut entries = self.entries.iter_mut().filter(|entry| concerns(&entry.fault));
        entries.find_map(|entry| entry.fires(request).then(|| entry.fault.clone()))
    }
}

impl Entry {
    fn fires(&mut self, request: &ApiRequest) -> bool {
        if self.is_off || !self.want.fits(request) {
            return false;
        }
        self.met += 1;
        let due = self.met > self.skip && (self.met - self.skip).is_multiple_of(self.every);
        let fires = due && self.hits < self.times;
        self.hits += u64::from(fires);
        fires
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(name: &str) -> ApiRequest {
        ApiRequest {
            verb: Verb::Patch,
            group: String::new(),
            resource: "configmaps".to_owned(),
            namespace: Some("a".to_owned()),
            name: Some(name.to_owned()),
        }
    }

    fn faults(rules: &mut Rules, n: usize) -> Vec<bool> {
        (0..n).map(|_| rules.judge(&patch("c")).is_some()).collect()
    }

    #[test]
    fn a_pattern_matches_what_it_does_not_mention() {
        assert!(Match::any().fits(&patch("c")));
        assert!(Match::writes().resource("configmaps").name("c").fits(&patch("c")));
        assert!(!Match::verb(Verb::Get).fits(&patch("c")));
        assert!(!Match::any().resource("configmaps/status").fits(&patch("c")));
        assert!(!Match::any().name("d").fits(&patch("c")));
    }

    #[test]
    fn skip_every_and_times_decide_when_a_rule_fires() {
        let mut rules = Rules::default();
        let id = rules.add(Match::any(), Fault::Status(409));
        let entry = rules.entry(id);
        (entry.skip, entry.every, entry.times) = (1, 2, 2);
        assert_eq!(faults(&mut rules, 8), [false, false, true, false, true, false, false, false]);
        assert_eq!(rules.hits(id), 2);
    }

    #[test]
    fn the_first_fault_that_fires_is_final() {
        let mut rules = Rules::default();
        rules.add(Match::any(), Fault::Status(500));
        let unreached = rules.add(Match::any(), Fault::Status(503));
        assert_eq!(rules.judge(&patch("c")), Some(Fault::Status(500)));
        assert_eq!(rules.hits(unreached), 0);
    }

    #[test]
    fn event_faults_leave_requests_alone_and_requests_leave_events_alone() {
        let mut rules = Rules::default();
        rules.add(Match::any(), Fault::Event(EventFault::Drop));
        assert_eq!(rules.judge(&patch("c")), None);
        assert_eq!(rules.judge_event(&patch("c")), Some(Fault::Event(EventFault::Drop)));
        rules.clear();
        rules.add(Match::any(), Fault::Status(500));
        assert_eq!(rules.judge_event(&patch("c")), None);
    }
}
