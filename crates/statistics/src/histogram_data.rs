//! A histogram of one moment.

use crate::buckets::{BUCKETS, LAST_VALUES, bucket_of};
use std::fmt;

/// What a histogram had counted at one moment.
///
/// ```
/// use ferrock_statistics::HistogramData;
///
/// let data: HistogramData = [1, 2, 3, 100].into_iter().collect();
/// assert_eq!((data.count(), data.sum(), data.max()), (4, 106, 100));
/// assert_eq!(data.median(), 2.0);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct HistogramData {
    pub(crate) buckets: Box<[u64; BUCKETS]>,
    pub(crate) sum: u64,
    pub(crate) sum_of_squares: u64,
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Default for HistogramData {
    fn default() -> Self {
        Self { buckets: Box::new([0; BUCKETS]), sum: 0, sum_of_squares: 0, min: u64::MAX, max: 0 }
    }
}

impl fmt::Debug for HistogramData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HistogramData")
            .field("count", &self.count())
            .field("sum", &self.sum)
            .field("min", &self.min())
            .field("max", &self.max)
            .finish_non_exhaustive()
    }
}

impl FromIterator<u64> for HistogramData {
    fn from_iter<I: IntoIterator<Item = u64>>(values: I) -> Self {
        let mut data = Self::default();
        for value in values {
            data.buckets[bucket_of(value)] += 1;
            data.sum = data.sum.wrapping_add(value);
            data.sum_of_squares = data.sum_of_squares.wrapping_add(value.wrapping_mul(value));
            data.min = data.min.min(value);
            data.max = data.max.max(value);
        }
        data
    }
}

impl HistogramData {
    /// How many values there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Their sum.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The smallest; 0 without any.
    #[must_use]
    pub fn min(&self) -> u64 {
        if self.count() == 0 { 0 } else { self.min }
    }

    /// The largest; 0 without any.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Their mean; 0 without any.
    #[must_use]
    pub fn average(&self) -> f64 {
        let count = self.count();
        if count == 0 { 0.0 } else { self.sum as f64 / count as f64 }
    }

    /// The standard deviation; 0 without any.
    #[must_use]
    pub fn standard_deviation(&self) -> f64 {
        let count = self.count() as f64;
        if count == 0.0 {
            return 0.0;
        }
        let sum = self.sum as f64;
        ((self.sum_of_squares as f64 * count - sum * sum) / (count * count)).max(0.0).sqrt()
    }

    /// The value that half of the values do not exceed.
    #[must_use]
    pub fn median(&self) -> f64 {
        self.percentile(50.0)
    }

    /// The value that so many percent of the values do not exceed, as if those of a bucket had equal distances; 0
    /// without values.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> f64 {
        let count = self.count();
        if count == 0 {
            return 0.0;
        }
        let threshold = count as f64 * (percent / 100.0);
        let mut before = 0;
        for (bucket, &values) in self.buckets.iter().enumerate() {
            if (before + values) as f64 >= threshold {
                let begin = if bucket == 0 { 0 } else { LAST_VALUES[bucket - 1] } as f64;
                let length = LAST_VALUES[bucket] as f64 - begin;
                let part = if values == 0 { 0.0 } else { (threshold - before as f64) / values as f64 };
                // A value that is being added may be in a bucket, and not in the bounds yet.
                return (begin + length * part).max(self.min() as f64).min(self.max as f64);
            }
            before += values;
        }
        self.max as f64
    }

    /// The largest value of each bucket, of all buckets.
    #[must_use]
    pub fn bucket_ends() -> &'static [u64] {
        &LAST_VALUES
    }

    /// Every bucket with a value: the largest value that it may have, and how many it has.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        LAST_VALUES.iter().copied().zip(self.buckets.iter().copied()).filter(|(_, values)| *values > 0)
    }

    /// Adds the values of another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (values, more) in self.buckets.iter_mut().zip(other.buckets.iter()) {
            *values = values.wrapping_add(*more);
        }
        self.sum = self.sum.wrapping_add(other.sum);
        self.sum_of_squares = self.sum_of_squares.wrapping_add(other.sum_of_squares);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Takes off what was counted before.
    pub(crate) fn subtract(&mut self, before: &Self) {
        for (values, before) in self.buckets.iter_mut().zip(before.buckets.iter()) {
            *values = values.saturating_sub(*before);
        }
        self.sum = self.sum.wrapping_sub(before.sum);
        self.sum_of_squares = self.sum_of_squares.wrapping_sub(before.sum_of_squares);
    }
}

impl fmt::Display for HistogramData {
    /// RocksDB's text: figures, then a line for each bucket that has values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.count();
        writeln!(f, "Count: {count} Average: {:.4}  StdDev: {:.2}", self.average(), self.standard_deviation())?;
        writeln!(f, "Min: {}  Median: {:.4}  Max: {}", self.min(), self.median(), self.max)?;
        writeln!(
            f,
            "Percentiles: P50: {:.2} P75: {:.2} P99: {:.2} P99.9: {:.2} P99.99: {:.2}",
            self.median(),
            self.percentile(75.0),
            self.percentile(99.0),
            self.percentile(99.9),
            self.percentile(99.99),
        )?;
        writeln!(f, "------------------------------------------------------")?;
        let (mut begin, mut before) = (0, 0);
        for (end, &values) in LAST_VALUES.iter().zip(self.buckets.iter()) {
            if values > 0 {
                before += values;
                let percent = |values: u64| 100.0 * values as f64 / count as f64;
                let bracket = if begin == 0 { '[' } else { '(' };
                let marks = "#".repeat((percent(values) / 5.0).round() as usize);
                write!(f, "{bracket} {begin:>7}, {end:>7} ] {values:>8} ")?;
                writeln!(f, "{:7.3}% {:7.3}% {marks}", percent(values), percent(before))?;
            }
            begin = *end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times of 14 reads by RocksDB 11.8.1, and the figures that it printed of them.
    #[test]
    fn percentiles_are_rocksdbs() {
        let values = [1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 6];
        let data: HistogramData = values.into_iter().collect();
        let printed = |percent| format!("{:.2}", data.percentile(percent));
        assert_eq!([50.0, 75.0, 99.0, 99.9, 99.99].map(printed), ["1.67", "2.83", "5.72", "5.97", "6.00"]);
        assert_eq!(format!("{:.4} {:.2}", data.average(), data.standard_deviation()), "2.4286 1.45");
        assert_eq!(data.buckets().collect::<Vec<_>>(), [(1, 5), (2, 3), (3, 3), (4, 2), (6, 1)]);
    }

    #[test]
    fn the_text_is_rocksdbs() {
        let data: HistogramData = [1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 6].into_iter().collect();
        let expected = "\
Count: 14 Average: 2.4286  StdDev: 1.45
Min: 1  Median: 1.6667  Max: 6
Percentiles: P50: 1.67 P75: 2.83 P99: 5.72 P99.9: 5.97 P99.99: 6.00
------------------------------------------------------
[       0,       1 ]        5  35.714%  35.714% #######
(       1,       2 ]        3  21.429%  57.143% ####
(       2,       3 ]        3  21.429%  78.571% ####
(       3,       4 ]        2  14.286%  92.857% ###
(       4,       6 ]        1   7.143% 100.000% #
";
        assert_eq!(data.to_string(), expected);
    }

    #[test]
    fn nothing_counted_is_zero() {
        let data = HistogramData::default();
        assert_eq!((data.count(), data.sum(), data.min(), data.max()), (0, 0, 0, 0));
        assert_eq!((data.median(), data.average(), data.standard_deviation()), (0.0, 0.0, 0.0));
    }
}
