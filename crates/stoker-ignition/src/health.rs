//! Readiness: what `/StatusPing` and `/system/gwinfo` say, neither of which needs a key.

use std::time::{Duration, Instant};

use crate::client::Access;
use crate::error::Error;
use crate::gateway::Gateway;
use crate::response::Response;
use crate::scan::Pace;

/// The time of the last request, after the deadline.
pub(crate) const A_MOMENT: Duration = Duration::from_millis(500);

/// Whether the gateway is in service.
#[derive(Debug)]
pub enum Readiness {
    /// In service.
    Running,
    /// Up, and not in service yet.
    Starting,
    /// Waits to be commissioned.
    NeedsCommissioning,
    /// Not reachable.
    Unreachable(Error),
    /// The response is not that of a gateway.
    Unknown(Error),
}

/// What a gateway says about itself, in the words that both routes share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Running,
    NeedsCommissioning,
    /// Any other: STARTING and whatever later versions invent.
    Other,
}

impl Gateway {
    /// Asks whether the gateway is in service.
    ///
    /// `gwinfo` has the last word where it has one: `StatusPing` of a gateway that was never
    /// commissioned may say anything.
    pub fn readiness(&self) -> Readiness {
        self.readiness_within(self.limits.gateway)
    }

    fn readiness_within(&self, left: Duration) -> Readiness {
        let started = Instant::now();
        let ping = match self.client.get("/StatusPing", Access::Public, left) {
            Ok(answer) => ping_word(answer),
            Err(error) => return Readiness::Unreachable(error),
        };
        if let Err(Error::NeedsCommissioning { .. }) = ping {
            return Readiness::NeedsCommissioning;
        }
        let left = left.saturating_sub(started.elapsed()).max(A_MOMENT);
        let info = self.client.get("/system/gwinfo", Access::Public, left).and_then(info_word);
        match (ping, info) {
            (_, Ok(Word::NeedsCommissioning) | Err(Error::NeedsCommissioning { .. }))
            | (Ok(Word::NeedsCommissioning), _) => Readiness::NeedsCommissioning,
            (Ok(Word::Other) | Err(Error::Starting { .. }), _) | (_, Ok(Word::Other)) => {
                Readiness::Starting
            }
            (_, Ok(Word::Running)) | (Ok(Word::Running), Err(_)) => Readiness::Running,
            (Err(error), Err(_)) => Readiness::Unknown(error),
        }
    }

    /// Waits until the gateway is in service, as long as the limits allow a caller that has
    /// waited before.
    pub(crate) fn wait_until_running(&self, before: Duration) -> Result<(), Error> {
        let started = Instant::now();
        let mut pace = Pace::new();
        loop {
            let left = self.limits.gateway.saturating_sub(before + started.elapsed());
            let readiness = self.readiness_within(left.max(A_MOMENT));
            let is_cancelled = matches!(readiness, Readiness::Unreachable(Error::Cancelled));
            match readiness.in_service(before + started.elapsed()) {
                Ok(()) => return Ok(()),
                Err(error) if is_cancelled || left.is_zero() => return Err(error),
                Err(_) => {}
            }
            self.client.pause(pace.next().min(left))?;
        }
    }
}

impl Readiness {
    /// Returns why the gateway is not in service, if it is not, after waiting this long.
    pub fn in_service(self, waited: Duration) -> Result<(), Error> {
        match self {
            Self::Running => Ok(()),
            Self::Starting => Err(Error::NotReady { waited }),
            Self::NeedsCommissioning => Err(Error::NotCommissioned { waited }),
            Self::Unreachable(error) | Self::Unknown(error) => Err(error),
        }
    }
}

fn ping_word(answer: Response) -> Result<Word, Error> {
    let (call, value) = answer.json()?;
    match value["state"].as_str() {
        Some(state) => Ok(Word::parse(state)),
        None => Err(Error::Malformed { call, why: "it names no state" }),
    }
}

fn info_word(answer: Response) -> Result<Word, Error> {
    let answer = answer.successful()?;
    match context_status(&String::from_utf8_lossy(&answer.body)) {
        Some(status) => Ok(Word::parse(status)),
        None => Err(Error::Malformed { call: answer.call, why: "it names no ContextStatus" }),
    }
}

/// Finds `ContextStatus` in `key=value;key=value;`.
fn context_status(text: &str) -> Option<&str> {
    let pairs = text.split([';', '\n']).filter_map(|pair| pair.split_once('='));
    let status = pairs.map(|(key, value)| (key.trim(), value.trim()));
    status.into_iter().find(|(key, _)| *key == "ContextStatus").map(|(_, value)| value)
}

impl Word {
    fn parse(word: &str) -> Self {
        match word {
            "RUNNING" => Self::Running,
            "NEEDS_COMMISSIONING" => Self::NeedsCommissioning,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::context_status;

    #[test]
    fn the_status_is_found_among_the_pairs() {
        let cases = [
            ("ContextStatus=RUNNING;Version=8.3.6 (b1);", Some("RUNNING")),
            ("Version=8.3;ContextStatus=NEEDS_COMMISSIONING", Some("NEEDS_COMMISSIONING")),
            ("a=1;\nContextStatus = STARTING \n", Some("STARTING")),
            ("NotContextStatus=RUNNING;", None),
            ("<html>", None),
            ("", None),
        ];
        for (text, status) in cases {
            assert_eq!(context_status(text), status, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            context_status(&text);
        }
    }
}
