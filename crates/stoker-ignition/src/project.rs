//! Which projects the gateway has loaded, if it lets Stoker ask.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::client::Access;
use crate::error::Error;
use crate::gateway::Gateway;
use crate::scan::Pace;

/// The list may lag behind the scan; longer than this is not lag.
const LAG: Duration = Duration::from_secs(10);

/// Whether the expected projects are loaded.
#[derive(Debug)]
#[must_use]
pub enum Verification {
    /// All of them.
    Loaded,
    /// These are not.
    Missing(Vec<String>),
    /// The gateway's response is not understood: a warning, not a failure.
    NotVerified(Error),
}

impl Gateway {
    /// Returns the names of the projects that are loaded.
    pub fn projects(&self) -> Result<BTreeSet<String>, Error> {
        // No parameter: an unknown one is a filter that matches nothing.
        let answer =
            self.client.get("/data/api/v1/projects/names", Access::Key, self.limits.call)?;
        let (call, value) = answer.json()?;
        names(&value).map_err(|why| Error::Malformed { call, why })
    }

    /// Asks whether these projects are loaded, again for a while if they are not.
    pub fn verify(&self, expected: &BTreeSet<String>) -> Verification {
        let (started, mut pace) = (Instant::now(), Pace::new());
        while !expected.is_empty() {
            let missing: Vec<String> = match self.projects() {
                Ok(loaded) => expected.difference(&loaded).cloned().collect(),
                Err(error) => return Verification::NotVerified(error),
            };
            if missing.is_empty() {
                break;
            }
            if started.elapsed() >= self.limits.gateway.min(LAG) {
                return Verification::Missing(missing);
            }
            if let Err(error) = self.client.pause(pace.next()) {
                return Verification::NotVerified(error);
            }
        }
        Verification::Loaded
    }
}

/// Reads `{items, metadata}`; items are names or objects with a `name`.
fn names(list: &Value) -> Result<BTreeSet<String>, &'static str> {
    items(list)?
        .iter()
        .map(|item| item.as_str().or_else(|| item["name"].as_str()).map(str::to_owned))
        .collect::<Option<_>>()
        .ok_or("an item has no name")
}

/// Returns the items of a list, if they are all of it.
pub(crate) fn items(list: &Value) -> Result<&[Value], &'static str> {
    let items = list["items"].as_array().ok_or("it has no items")?;
    let total = list["metadata"]["total"].as_u64().unwrap_or(0);
    if u64::try_from(items.len()).is_ok_and(|count| count < total) {
        return Err("it lists fewer items than it counts");
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn items_are_strings_or_objects_with_a_name() {
        let both =
            json!({"items": ["a", {"name": "b", "enabled": true}], "metadata": {"total": 2}});
        assert_eq!(names(&both), Ok(BTreeSet::from(["a".to_owned(), "b".to_owned()])));
        assert_eq!(names(&json!({"items": []})), Ok(BTreeSet::new()));
    }

    #[test]
    fn what_is_not_understood_is_no_list() {
        let odd = [
            json!(null),
            json!([]),
            json!({}),
            json!({"items": {}}),
            json!({"items": [1]}),
            json!({"items": [{"title": "a"}]}),
            json!({"items": ["a"], "metadata": {"total": 2}}),
        ];
        for list in odd {
            assert!(names(&list).is_err(), "{list}");
        }
    }

    proptest! {
        #[test]
        fn no_json_panics(text in "[\\[\\]{}\",:a-z0-9itemsname]{0,60}") {
            if let Ok(value) = serde_json::from_str::<Value>(&text) {
                drop(names(&value));
            }
        }
    }
}
