//! A watch on its way through the proxy: events are told apart, judged one by one, and passed on.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;

use futures::Stream;
use http_body_util::BodyExt;
use hyper::body::{Bytes, Frame};
use kube::client::Body;
use serde::Deserialize;
use tokio::sync::Notify;

use super::request::ApiRequest;
use super::rule::{EventFault, Fault};
use super::serve::{BoxError, Severed};
use super::state::Shared;
use super::status::gone_event;

/// One open watch.
pub(super) struct WatchStream {
    shared: Arc<Shared>,
    id: usize,
    request: ApiRequest,
    cut: Arc<Notify>,
    upstream: Body,
    lines: Lines,
    ready: VecDeque<Bytes>,
    /// An event that waits for the next one, to arrive after it.
    swapped: Option<Bytes>,
    end: Option<End>,
    /// Whether the first event is cut, whatever the rules say of events.
    is_doomed: bool,
}

/// How a stream ends once everything that is ready has been sent.
#[derive(Clone, Copy)]
enum End {
    Close,
    Cut,
    Silence,
}

/// Cuts bytes into lines, wherever the network cut them into chunks.
#[derive(Default)]
struct Lines(Vec<u8>);

/// As much of an event as the rules ask about.
#[derive(Deserialize)]
struct Event {
    r#type: String,
    object: Object,
}

#[derive(Deserialize)]
struct Object {
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
struct Metadata {
    name: Option<String>,
}

impl WatchStream {
    pub(super) fn open(shared: Arc<Shared>, id: usize, watch: (ApiRequest, Body)) -> Self {
        let (request, upstream) = watch;
        let cut = shared.with(|book| book.journal.watch_opened(id, request.clone()));
        Self {
            shared,
            id,
            request,
            cut,
            upstream,
            lines: Lines::default(),
            ready: VecDeque::new(),
            swapped: None,
            end: None,
            is_doomed: false,
        }
    }

    /// Cuts this watch halfway through its first event.
    pub(super) fn cut_in_first_event(mut self) -> Self {
        self.is_doomed = true;
        self
    }

    /// Passes the events on as a body.
    pub(super) fn into_frames(self) -> impl Stream<Item = Result<Frame<Bytes>, BoxError>> + Send {
        futures::stream::unfold(self, |mut watch| async move {
            let cut = Arc::clone(&watch.cut);
            let item = tokio::select! {
                biased;
                () = cut.notified() => Some(Err(Severed.into())),
                item = watch.next() => item,
            };
            item.map(|item| (item.map(Frame::data), watch))
        })
    }

    async fn next(&mut self) -> Option<Result<Bytes, BoxError>> {
        loop {
            if let Some(chunk) = self.ready.pop_front() {
                return Some(Ok(chunk));
            }
            match self.end {
                Some(End::Close) => return None,
                Some(End::Silence) => pending().await,
                Some(End::Cut) => return Some(Err(severed_after_flush().await)),
                None => {}
            }
            match self.upstream.frame().await {
                Some(Ok(frame)) => self.take(&frame.into_data().unwrap_or_default()).await,
                Some(Err(error)) => return Some(Err(error.into())),
                None => self.finish(),
            }
        }
    }

    async fn take(&mut self, chunk: &[u8]) {
        for line in self.lines.push(chunk) {
            if self.end.is_none() {
                self.pass(line).await;
            }
        }
    }

    fn finish(&mut self) {
        self.ready.extend(self.swapped.take());
        self.end = Some(End::Close);
    }

    async fn pass(&mut self, line: Bytes) {
        let event = serde_json::from_slice::<Event>(&line).ok();
        let about = self.about(event.as_ref());
        let fault = match self.shared.with(|book| book.rules.judge_event(&about)) {
            _ if self.is_doomed => EventFault::Cut,
            Some(Fault::Event(fault)) => fault,
            _ => return self.send(line),
        };
        let is_bookmark = event.is_some_and(|event| event.r#type == "BOOKMARK");
        match fault {
            EventFault::BookmarksOnly if is_bookmark => self.send(line),
            EventFault::Drop | EventFault::BookmarksOnly => {}
            EventFault::Duplicate => {
                self.send(line.clone());
                self.send(line);
            }
            EventFault::Swap => self.ready.extend(self.swapped.replace(line)),
            EventFault::Delay(time) => {
                tokio::time::sleep(time).await;
                self.send(line);
            }
            EventFault::Silence => self.end = Some(End::Silence),
            EventFault::Gone => {
                self.send(format!("{}\n", gone_event(&self.request)).into());
                self.end = Some(End::Close);
            }
            EventFault::Cut => {
                self.send(line.slice(..line.len() / 2));
                self.end = Some(End::Cut);
            }
        }
    }

    /// Says what an event is about: this watch's resource, the event's own object.
    fn about(&self, event: Option<&Event>) -> ApiRequest {
        let mut about = self.request.clone();
        if let Some(Event { object: Object { metadata }, .. }) = event {
            about.name.clone_from(&metadata.name);
        }
        about
    }

    fn send(&mut self, line: Bytes) {
        self.ready.push_back(line);
        self.ready.extend(self.swapped.take());
    }
}

impl Drop for WatchStream {
    fn drop(&mut self) {
        self.shared.with(|book| book.journal.watch_closed(self.id));
    }
}

impl Lines {
    /// Takes in a chunk and returns the lines that it completes, each with its line feed.
    fn push(&mut self, chunk: &[u8]) -> Vec<Bytes> {
        let searched = self.0.len();
        self.0.extend_from_slice(chunk);
        let Some(last) = self.0[searched..].iter().rposition(|byte| *byte == b'\n') else {
            return Vec::new();
        };
        let rest = self.0.split_off(searched + last + 1);
        let complete = std::mem::replace(&mut self.0, rest);
        complete.split_inclusive(|byte| *byte == b'\n').map(Bytes::copy_from_slice).collect()
    }
}

/// Lets the connection send what it has, then breaks it.
pub(super) async fn severed_after_flush() -> BoxError {
    // The connection flushes whenever its body has nothing to give; an error at once would swallow
    // the bytes before it.
    tokio::task::yield_now().await;
    Severed.into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lines_do_not_depend_on_how_the_network_cut_them(
            lines in prop::collection::vec("[a-z]{0,8}", 0..8),
            cuts in prop::collection::vec(1_usize..6, 1..40),
        ) {
            let whole: Vec<Bytes> = lines.iter().map(|line| format!("{line}\n").into()).collect();
            let bytes = [whole.concat(), b"tail".to_vec()].concat();
            let mut splitter = Lines::default();
            let mut got = Vec::new();
            let (mut rest, mut cuts) = (bytes.as_slice(), cuts.iter().cycle());
            while !rest.is_empty() {
                let size = (*cuts.next().unwrap()).min(rest.len());
                got.extend(splitter.push(&rest[..size]));
                rest = &rest[size..];
            }
            prop_assert_eq!(got, whole);
            prop_assert_eq!(splitter.0, b"tail");
        }
    }
}
