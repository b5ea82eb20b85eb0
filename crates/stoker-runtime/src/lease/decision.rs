//! What to do with a Lease that was read.

use k8s_openapi::api::coordination::v1::Lease;
use tokio::time::Instant;

use super::Settings;

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// There is no Lease: create it.
    Create,
    /// It is free or stale: write our name into it.
    Take,
    /// It is ours: write it again.
    Renew,
    /// Another instance holds it.
    Wait,
}

/// The form in which a Lease was last seen, and when it was first seen like that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Observation {
    pub(super) version: Option<String>,
    pub(super) at: Instant,
}

pub(super) fn decide(
    lease: Option<&Lease>,
    seen: Option<&Observation>,
    settings: &Settings,
    now: Instant,
) -> Action {
    let Some(lease) = lease else { return Action::Create };
    let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref());
    match holder {
        None | Some("") => return Action::Take,
        Some(holder) if holder == settings.identity => return Action::Renew,
        Some(_) => {}
    }
    let unchanged = seen
        .filter(|seen| seen.version == lease.metadata.resource_version)
        .map(|seen| now.saturating_duration_since(seen.at));
    match unchanged {
        Some(unchanged) if unchanged >= settings.timing.duration => Action::Take,
        _ => Action::Wait,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use k8s_openapi::api::coordination::v1::LeaseSpec;
    use kube::api::ObjectMeta;

    use super::*;

    fn lease(holder: Option<&str>, version: &str) -> Lease {
        Lease {
            metadata: ObjectMeta {
                resource_version: Some(version.to_owned()),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                holder_identity: holder.map(str::to_owned),
                ..LeaseSpec::default()
            }),
        }
    }

    fn action(lease: Option<&Lease>, version: &str, seconds: u64) -> Action {
        let start = Instant::now();
        let seen = Observation { version: Some(version.to_owned()), at: start };
        let settings = Settings::new("stoker-system", "stoker", "me");
        decide(lease, Some(&seen), &settings, start + Duration::from_secs(seconds))
    }

    #[test]
    fn a_missing_lease_is_created_and_a_free_one_taken_at_once() {
        assert_eq!(action(None, "1", 0), Action::Create);
        assert_eq!(action(Some(&lease(None, "1")), "1", 0), Action::Take);
        assert_eq!(action(Some(&lease(Some(""), "1")), "1", 0), Action::Take);
    }

    #[test]
    fn ones_own_lease_is_renewed() {
        assert_eq!(action(Some(&lease(Some("me"), "1")), "1", 100), Action::Renew);
    }

    #[test]
    fn a_lease_of_another_is_taken_when_it_was_unchanged_for_its_duration() {
        let other = lease(Some("other"), "1");
        assert_eq!(action(Some(&other), "1", 14), Action::Wait);
        assert_eq!(action(Some(&other), "1", 15), Action::Take);
        // It changed since it was seen: the wait begins again.
        assert_eq!(action(Some(&other), "0", 100), Action::Wait);
    }
}
