//! What is to be renewed, and when.

use jiff::{SignedDuration, Timestamp};

use super::material::Material;

const HOURS_PER_DAY: i64 = 24;
/// How long a CA is valid.
pub(super) const CA_DAYS: i64 = 5 * 365;
/// When a CA is replaced: half a year before it expires.
const CA_RENEWED_AFTER_DAYS: i64 = CA_DAYS - 180;
/// How long a pair is valid.
pub(super) const LEAF_DAYS: i64 = 90;
/// When a pair is replaced.
const LEAF_RENEWED_AFTER_DAYS: i64 = 60;
/// How long a CA that was replaced stays trusted.
const OVERLAP_DAYS: i64 = 1;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plan {
    /// Everything is in order.
    Keep,
    /// There is nothing usable: make a CA and a pair.
    Create,
    /// Make another CA and a pair of it; the present CA stays trusted for a day.
    ReplaceAuthority,
    /// Make another pair with the present CA.
    ReplaceLeaf,
    /// The CA that was replaced has had its day.
    DropPrevious,
}

/// Decides what is to be done.
pub(super) fn decide(material: Option<&Material>, names: &[String], now: Timestamp) -> Plan {
    let Some(material) = material else { return Plan::Create };
    let age = |made: Timestamp| days_since(made, now);
    let authority = age(material.authority.made);
    // A time in the future, further than clocks differ, was not written by a working clock.
    if !(-OVERLAP_DAYS..CA_RENEWED_AFTER_DAYS).contains(&authority) {
        return Plan::ReplaceAuthority;
    }
    let leaf = age(material.leaf.made);
    let is_current = (-OVERLAP_DAYS..LEAF_RENEWED_AFTER_DAYS).contains(&leaf);
    if !is_current || material.leaf.names != names {
        return Plan::ReplaceLeaf;
    }
    if !material.previous.is_empty() && authority >= OVERLAP_DAYS {
        return Plan::DropPrevious;
    }
    Plan::Keep
}

fn days_since(then: Timestamp, now: Timestamp) -> i64 {
    let elapsed: SignedDuration = now.duration_since(then);
    elapsed.as_hours().div_euclid(HOURS_PER_DAY)
}

#[cfg(test)]
mod tests {
    use stoker_api::word::Secret;

    use super::super::material::{Authority, Leaf};
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn material(ca: &str, leaf: &str, previous: &str) -> Material {
        Material {
            authority: Authority {
                name: "ca".to_owned(),
                certificate: "CA".to_owned(),
                key: Secret::new("k"),
                made: at(ca),
            },
            previous: previous.to_owned(),
            leaf: Leaf {
                certificate: "LEAF".to_owned(),
                key: Secret::new("k"),
                made: at(leaf),
                names: vec!["a".to_owned()],
            },
        }
    }

    fn plan(material: Option<&Material>, names: &str, now: &str) -> Plan {
        decide(material, &[names.to_owned()], at(now))
    }

    #[test]
    fn a_pair_is_renewed_at_sixty_days_and_a_ca_half_a_year_before_it_ends() {
        let fresh = material("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "");
        assert_eq!(plan(None, "a", "2026-01-01T00:00:00Z"), Plan::Create);
        assert_eq!(plan(Some(&fresh), "a", "2026-03-01T00:00:00Z"), Plan::Keep);
        assert_eq!(plan(Some(&fresh), "a", "2026-03-02T00:00:00Z"), Plan::ReplaceLeaf);
        assert_eq!(plan(Some(&fresh), "b", "2026-01-02T00:00:00Z"), Plan::ReplaceLeaf);
        assert_eq!(plan(Some(&fresh), "a", "2030-09-01T00:00:00Z"), Plan::ReplaceAuthority);
    }

    #[test]
    fn a_replaced_ca_stays_trusted_for_a_day() {
        let rotated = material("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "OLD");
        assert_eq!(plan(Some(&rotated), "a", "2026-01-01T23:59:00Z"), Plan::Keep);
        assert_eq!(plan(Some(&rotated), "a", "2026-01-02T00:00:00Z"), Plan::DropPrevious);
    }

    // C15
    #[test]
    fn a_clock_that_differs_a_little_renews_nothing() {
        let fresh = material("2026-01-01T10:00:00Z", "2026-01-01T10:00:00Z", "");
        assert_eq!(plan(Some(&fresh), "a", "2026-01-01T09:50:00Z"), Plan::Keep);
    }
}
