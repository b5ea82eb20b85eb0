//! Two things take turns, and the median of their ratios is the result.

use std::time::Duration;

/// What both sides of a comparison came to, in the order of the turns.
#[derive(Debug, Clone)]
pub struct Pairs<A, B> {
    turns: Vec<(A, B)>,
}

/// One number per turn for each side, in seconds or in whatever the bar counts.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// Stoker's.
    pub ours: Vec<f64>,
    /// The reference's.
    pub reference: Vec<f64>,
}

/// Lets `ours` and `reference` take turns; who begins alternates, so that a machine that slows down
/// harms both alike. Both are told the number of the turn.
pub fn alternate<A, B>(
    turns: usize,
    mut ours: impl FnMut(usize) -> anyhow::Result<A>,
    mut reference: impl FnMut(usize) -> anyhow::Result<B>,
) -> anyhow::Result<Pairs<A, B>> {
    let mut done = Vec::with_capacity(turns);
    for turn in 0..turns {
        if turn % 2 == 0 {
            let first = ours(turn)?;
            done.push((first, reference(turn)?));
        } else {
            let first = reference(turn)?;
            done.push((ours(turn)?, first));
        }
    }
    Ok(Pairs { turns: done })
}

impl<A, B> Pairs<A, B> {
    /// Picks the duration that a bar speaks of from each side.
    pub fn series(
        &self,
        ours: impl Fn(&A) -> Duration,
        reference: impl Fn(&B) -> Duration,
    ) -> Series {
        Series {
            ours: self.turns.iter().map(|(a, _)| ours(a).as_secs_f64()).collect(),
            reference: self.turns.iter().map(|(_, b)| reference(b).as_secs_f64()).collect(),
        }
    }
}

impl Pairs<Duration, Duration> {
    /// Takes the durations as they are.
    pub fn durations(&self) -> Series {
        self.series(|ours| *ours, |reference| *reference)
    }
}

impl Series {
    /// Returns the median of ours by theirs, turn by turn.
    pub fn ratio(&self) -> f64 {
        median(self.turns().map(|(ours, reference)| ours / reference))
    }

    /// Returns the median of what ours takes beyond theirs, turn by turn.
    pub fn difference(&self) -> f64 {
        median(self.turns().map(|(ours, reference)| ours - reference))
    }

    /// Returns the median of each side.
    pub fn medians(&self) -> (f64, f64) {
        (median(self.ours.iter().copied()), median(self.reference.iter().copied()))
    }

    fn turns(&self) -> impl Iterator<Item = (f64, f64)> {
        self.ours.iter().copied().zip(self.reference.iter().copied())
    }
}

/// The value in the middle; of an even number, the mean of both; of none, not a number.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        count if count % 2 == 0 => f64::midpoint(values[middle - 1], values[middle]),
        _ => values[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_side_that_begins_alternates() {
        let order = std::cell::RefCell::new(String::new());
        let note = |side: char| {
            order.borrow_mut().push(side);
            Ok(Duration::ZERO)
        };
        alternate(3, |_| note('a'), |_| note('b')).unwrap();
        assert_eq!(order.into_inner(), "abbaab");
    }

    #[test]
    fn ratios_are_taken_pair_by_pair() {
        // The machine was ten times slower in the last turn, for both.
        let series = Series { ours: vec![1.0, 1.0, 10.0], reference: vec![2.0, 2.0, 20.0] };
        assert!((series.ratio() - 0.5).abs() < 1e-9);
        assert!((series.difference() + 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_median_is_the_middle() {
        assert!((median([3.0, 1.0, 2.0].into_iter()) - 2.0).abs() < 1e-9);
        assert!((median([4.0, 1.0, 2.0, 3.0].into_iter()) - 2.5).abs() < 1e-9);
        assert!(median(std::iter::empty()).is_nan());
    }
}
