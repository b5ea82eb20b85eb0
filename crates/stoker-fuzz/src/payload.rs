//! Bodies of push events, before and after their sender is known.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};
use stoker_api::GatewaySync;
use stoker_api::condition::Requester;
use stoker_api::word::RefName;
use stoker_core::payload::{
    Delivery, EVENT_HEADERS, FORMATS, Fields, Header, Hint, NotJson, Outcome, Scanner, Situation,
    decide, recognise,
};

/// Deeper bodies are refused, which other parsers may not do.
const DEEPEST: usize = 60;
/// What a GatewaySync may follow.
const FOLLOWED: [&str; 4] = ["main", "refs/tags/v1.0.0", "v1.0.0", "semver:>=2.0 <3"];

/// Any body, however it is cut: the scanner takes all that a whole parser takes.
pub(crate) fn scan(input: &[u8]) {
    let whole = scanned(input, input.len());
    for length in [1, 7] {
        assert_eq!(scanned(input, length), whole, "cut into pieces of {length}");
    }
    let depth = input.iter().filter(|byte| matches!(byte, b'[' | b'{')).count();
    if whole.is_err() && depth <= DEEPEST {
        assert!(serde_json::from_slice::<Value>(input).is_err(), "refused, and it is JSON");
    }
}

/// A delivery of one format: the name of its event in the first line, then the body.
pub(crate) fn read(source: Requester, header: Option<&'static str>, input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (event, body) = text.split_once('\n').unwrap_or(("", &text));
    let Ok(fields) = scanned(body.as_bytes(), 1024) else { return };
    let named = |name| Header { name, value: event.to_owned() };
    let headers: Vec<Header> = header.into_iter().map(named).collect();
    let delivery = Delivery { headers: &headers, fields: &fields };
    let format = FORMATS.iter().find(|(sender, _)| *sender == source);
    let (_, read) = format.expect("every sender but the command line has a format");
    if let Some(hint) = read(&delivery) {
        assert_eq!(hint.source, source);
        check(&hint);
    }
    // Whatever the header says, some format may take it.
    for name in EVENT_HEADERS {
        let headers = [named(*name)];
        if let Some(hint) = recognise(&Delivery { headers: &headers, fields: &fields }) {
            check(&hint);
        }
    }
}

fn scanned(input: &[u8], length: usize) -> Result<Fields, NotJson> {
    let mut scanner = Scanner::default();
    for piece in input.chunks(length.max(1)) {
        scanner.feed(piece)?;
    }
    scanner.finish()
}

/// What is written is a ref that git takes, whatever the body says.
fn check(hint: &Hint) {
    let accepted = BTreeMap::new();
    for followed in FOLLOWED {
        let (sync, now) = (plant(followed), Timestamp::UNIX_EPOCH);
        for is_repeated in [false, true] {
            let situation = Situation { sync: &sync, accepted: &accepted, is_repeated, now };
            let outcome = decide(hint, situation);
            let annotations = outcome.annotations(hint.source, followed, now);
            match outcome {
                Outcome::Ignore(reason) => {
                    assert!(!reason.is_empty() && annotations.is_empty(), "{reason:?}");
                }
                Outcome::Recheck(git_ref) => assert!(RefName::parse(&git_ref).is_ok()),
                Outcome::Request { git_ref, at } => {
                    assert!(RefName::parse(&git_ref).is_ok(), "{git_ref:?} is not a ref");
                    assert!(at <= now, "a request of the future blocks all others");
                }
            }
        }
    }
}

fn plant(git_ref: &str) -> GatewaySync {
    let sync = json!({
        "apiVersion": "stoker.io/v1alpha1",
        "kind": "GatewaySync",
        "metadata": { "name": "plant", "namespace": "line" },
        "spec": { "git": { "repo": "https://git.example.com/plant/site.git", "ref": git_ref } },
    });
    serde_json::from_value(sync).expect("it is a GatewaySync")
}
