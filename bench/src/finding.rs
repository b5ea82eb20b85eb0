//! A bar, and whether it holds.

use serde::Serialize;

use crate::pair::Series;

/// A promise about speed or size. Less is better, always: "25 times faster" is a ratio of 0.04.
#[derive(Debug, Clone, Serialize)]
pub struct Bar {
    /// The number in the list of goals.
    pub id: &'static str,
    /// What is promised, in words.
    pub claim: String,
    /// The most that the value may be; infinite for a figure that has no limit yet.
    pub limit: f64,
    /// What the value counts.
    pub unit: Unit,
}

/// What a value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Unit {
    /// Ours by the reference's.
    Ratio,
    /// Milliseconds beyond the reference.
    Milliseconds,
    /// Mebibytes.
    Mebibytes,
    /// Things.
    Count,
}

/// What was found about a bar.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// The bar.
    #[serde(flatten)]
    pub bar: Bar,
    /// What was measured, in words.
    pub measured: String,
    /// What is compared with the limit; nothing if the bar was skipped.
    pub value: Option<f64>,
    /// Whether it holds.
    pub verdict: Verdict,
    /// Stoker's values, turn by turn.
    pub ours: Vec<f64>,
    /// The reference's values, turn by turn.
    pub reference: Vec<f64>,
}

/// How a bar fares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// The value is within the limit.
    Holds,
    /// It is not.
    Misses,
    /// It could not be measured here.
    Skipped,
}

impl Bar {
    /// A ratio to the reference's time.
    pub fn ratio(id: &'static str, claim: impl Into<String>, limit: f64) -> Self {
        Self { id, claim: claim.into(), limit, unit: Unit::Ratio }
    }

    /// A figure that has no limit yet.
    pub fn figure(id: &'static str, claim: impl Into<String>, unit: Unit) -> Self {
        Self { id, claim: claim.into(), limit: f64::INFINITY, unit }
    }

    /// Judges by the median ratio of a series.
    pub fn judge_ratio(self, series: Series) -> Finding {
        let (ours, reference) = series.medians();
        let measured = format!("{} to {}", seconds(ours), seconds(reference));
        let ratio = series.ratio();
        Finding { ours: series.ours, reference: series.reference, ..self.judge(ratio, measured) }
    }

    /// Judges a single value.
    pub fn judge(self, value: f64, measured: String) -> Finding {
        let verdict = if value <= self.limit { Verdict::Holds } else { Verdict::Misses };
        Finding {
            bar: self,
            measured,
            value: Some(value),
            verdict,
            ours: Vec::new(),
            reference: Vec::new(),
        }
    }

    /// Says why it can't be measured here.
    pub fn skip(self, why: impl Into<String>) -> Finding {
        Finding {
            bar: self,
            measured: why.into(),
            value: None,
            verdict: Verdict::Skipped,
            ours: Vec::new(),
            reference: Vec::new(),
        }
    }
}

impl Unit {
    /// Writes a value as people read it.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Ratio if value < 0.1 => format!("{value:.3}x"),
            Self::Ratio => format!("{value:.2}x"),
            Self::Milliseconds => format!("{value:.1} ms"),
            Self::Mebibytes => format!("{value:.1} MiB"),
            Self::Count if value.fract() == 0.0 => format!("{value:.0}"),
            Self::Count => format!("{value:.2}"),
        }
    }
}

impl Verdict {
    /// Returns the word for the table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Misses => "MISSES",
            Self::Skipped => "skipped",
        }
    }
}

/// Writes a duration with about three digits.
pub fn seconds(value: f64) -> String {
    if value < 1.0 { format!("{:.1} ms", value * 1e3) } else { format!("{value:.2} s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_holds_up_to_its_limit() {
        let bar = || Bar::ratio("P4", "x", 1.0);
        assert_eq!(bar().judge(1.0, String::new()).verdict, Verdict::Holds);
        assert_eq!(bar().judge(1.001, String::new()).verdict, Verdict::Misses);
        assert_eq!(bar().judge(f64::NAN, String::new()).verdict, Verdict::Misses);
        assert_eq!(bar().skip("no rsync").verdict, Verdict::Skipped);
    }

    #[test]
    fn the_median_ratio_decides() {
        let series = Series { ours: vec![1.0, 9.0, 1.0], reference: vec![2.0, 2.0, 2.0] };
        let finding = Bar::ratio("P4", "x", 0.5).judge_ratio(series);
        assert_eq!(finding.verdict, Verdict::Holds);
        assert_eq!(finding.measured, "1.00 s to 2.00 s");
    }
}
