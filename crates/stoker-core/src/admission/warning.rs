//! What the user is to know: short, escaped, and with the next step.
//!
//! The API server drops a warning with a raw newline and cuts long ones, so texts are escaped and
//! bounded here.

use stoker_api::names::Annotation;

use super::validation::Validity;

/// Characters of one warning.
const LONGEST: usize = 240;
/// Names that a message lists.
const LISTED: usize = 5;

/// What was found while a pod was looked at.
#[derive(Debug, Default)]
pub(super) struct Findings {
    faults: Vec<String>,
    notes: Vec<String>,
    has_refused_image: bool,
}

impl Findings {
    /// A wrong configuration: denied where the policy is strict.
    pub(super) fn fault(&mut self, text: String) {
        self.faults.push(text);
    }

    /// Something to know, whatever the policy.
    pub(super) fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    /// An image that is not allowed: the usual one is taken.
    pub(super) fn refuse_image(&mut self, text: String) {
        self.has_refused_image = true;
        self.note(text);
    }

    pub(super) fn has_refused_image(&self) -> bool {
        self.has_refused_image
    }

    /// Returns everything as the verdict on an object.
    pub(super) fn into_validity(self) -> Validity {
        let denial = self.has_faults().then(|| self.denial());
        let notes = Self { notes: self.notes, ..Self::default() };
        Validity { denial, warnings: notes.warnings() }
    }

    pub(super) fn has_faults(&self) -> bool {
        !self.faults.is_empty()
    }

    pub(super) fn denial(&self) -> String {
        let texts = self.faults.iter().map(|text| printable(text)).collect::<Vec<_>>();
        format!("stoker: {}", texts.join("; "))
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        let texts = self.faults.iter().chain(&self.notes);
        texts.map(|text| printable(&format!("stoker: {text}"))).collect()
    }
}

pub(super) fn unknown_sync(name: &str, known: &[&str]) -> String {
    let known = match known {
        [] => "there is none in this namespace".to_owned(),
        known => format!("there is {}", list(known)),
    };
    format!(
        "GatewaySync {name:?} does not exist, {known}: create it, or set {}",
        Annotation::CrName
    )
}

pub(super) fn which_sync(known: &[&str]) -> String {
    let annotation = Annotation::CrName;
    match known {
        [] => format!(
            "there is no GatewaySync in this namespace: create one, or set {annotation} to the one to come"
        ),
        known => format!("which GatewaySync? Set {annotation} to one of {}", list(known)),
    }
}

pub(super) fn unanswered() -> String {
    format!(
        "the agent is not injected: failed to list the GatewaySyncs, set {} and recreate the pod",
        Annotation::CrName
    )
}

pub(super) fn unknown_profile(sync: &str, wanted: &str, known: &[&str]) -> String {
    let annotation = Annotation::Profile;
    match known {
        [] => {
            format!("GatewaySync {sync:?} has no profile {wanted:?}: add it to spec.sync.profiles")
        }
        known => format!(
            "GatewaySync {sync:?} has no profile {wanted:?}: set {annotation} to one of {}",
            list(known)
        ),
    }
}

/// Lists names, the first few of them.
pub(super) fn list(names: &[&str]) -> String {
    let shown = names.iter().take(LISTED).copied().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(LISTED) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}

/// Returns the text without control characters, and not longer than the API server takes.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if out.chars().count() >= LONGEST {
            out.push('…');
            break;
        }
        if character.is_control() || matches!(character, '\u{2028}' | '\u{2029}' | '\u{feff}') {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_long_texts_cut() {
        assert_eq!(printable("a\nb\u{1b}"), "a\\nb\\u{1b}");
        let cut = printable(&"x".repeat(10_000));
        assert_eq!(cut.chars().count(), LONGEST + 1);
        assert!(cut.ends_with('…'));
    }

    #[test]
    fn long_lists_say_how_many_more_there_are() {
        assert_eq!(list(&["a", "b"]), "a, b");
        assert_eq!(list(&["a", "b", "c", "d", "e", "f", "g"]), "a, b, c, d, e and 2 more");
    }
}
