//! Designer sessions: whether a user edits on the gateway, and what that means for a run.
//!
//! With `wait` and `fail` a run writes only if it *knows* that there is no session: a missing
//! response does not count as none.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::client::Access;
use crate::error::Error;
use crate::gateway::Gateway;
use crate::project::items;
use crate::scan::Pace;

const NAMED: usize = 5;
const SHOWN: usize = 64;

/// What open designer sessions mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Nothing; the gateway is not even asked.
    Proceed,
    /// Wait this long until they are closed, then fail.
    Wait(Duration),
    /// Fail at once.
    Fail,
}

/// A designer session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Designer {
    /// The user, as the gateway names it; control characters are escaped.
    pub user: String,
    /// The project; control characters are escaped.
    pub project: String,
}

impl Gateway {
    /// Returns the designer sessions that are open.
    pub fn designers(&self) -> Result<Vec<Designer>, Error> {
        let answer = self.client.get("/data/api/v1/designers", Access::Key, self.limits.call)?;
        let (call, value) = answer.json()?;
        let designers = items(&value).map(|items| items.iter().map(Designer::read).collect());
        designers.map_err(|why| Error::Malformed { call, why })
    }

    /// Waits as the policy says; before anything is written.
    pub fn wait_for_designers(&self, policy: Policy) -> Result<(), Error> {
        let timeout = match policy {
            Policy::Proceed | Policy::Fail => return self.check_designers(policy),
            Policy::Wait(timeout) => timeout,
        };
        let (started, mut pace) = (Instant::now(), Pace::new());
        loop {
            let closed = self.check_designers(policy);
            let is_settled = matches!(closed, Ok(()) | Err(Error::Cancelled));
            let left = timeout.saturating_sub(started.elapsed());
            if is_settled || left.is_zero() {
                return closed;
            }
            self.client.pause(pace.next().min(left))?;
        }
    }

    /// Checks once, without waiting, right before the first rename: a session may have been opened
    /// since the first check.
    pub fn check_designers(&self, policy: Policy) -> Result<(), Error> {
        if policy == Policy::Proceed {
            return Ok(());
        }
        match self.designers() {
            Ok(open) if open.is_empty() => Ok(()),
            Ok(open) => Err(Error::DesignerSessionActive { count: open.len(), who: who(&open) }),
            Err(Error::Cancelled) => Err(Error::Cancelled),
            Err(error) => Err(Error::DesignerStateUnknown { source: Box::new(error) }),
        }
    }
}

impl Designer {
    fn read(item: &Value) -> Self {
        let shown = |name: &str| {
            let text = item[name].as_str().unwrap_or("?");
            text.chars().take(SHOWN).flat_map(char::escape_debug).collect()
        };
        Self { user: shown("user"), project: shown("project") }
    }
}

fn who(open: &[Designer]) -> String {
    let named = open.iter().take(NAMED).map(|one| format!("{} in {}", one.user, one.project));
    let named = named.collect::<Vec<_>>().join(", ");
    match open.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_short_and_harmless_in_a_terminal() {
        let hostile = format!("\u{1b}[2J{}", "x".repeat(500));
        let designer = Designer::read(&json!({"user": hostile, "project": 7}));
        assert!(!designer.user.contains('\u{1b}') && designer.user.len() < 100);
        assert_eq!(designer.project, "?");
    }

    #[test]
    fn many_sessions_are_counted_not_listed() {
        let one = Designer { user: "ada".into(), project: "plant".into() };
        assert_eq!(who(std::slice::from_ref(&one)), "ada in plant");
        assert!(who(&vec![one; 9]).ends_with("and 4 more"));
    }
}
