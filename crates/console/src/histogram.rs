//! Counts of values in RocksDB's buckets, and RocksDB's way to print them, so that scripts that read one read the
//! other.
//!
//! ```text
//! bucket limits: 1, 2, then 1.5 times as much each, cut to its two leading digits:  3 4 6 10 15 22 34 51 76 110 ...
//! bucket i holds the values in (limit[i-1], limit[i]]; the first also holds 0
//! ```
//!
//! Percentiles are interpolated within their bucket, so they are estimates; minimum, maximum and average are exact. Two
//! engines of which one takes a third longer may share such a bucket, so there are finer ones for those who compare.

use std::fmt;
use std::sync::OnceLock;

/// Upper ends of the buckets, ascending; the last one is at least 2^63.
fn limits() -> &'static [u64] {
    static LIMITS: OnceLock<Vec<u64>> = OnceLock::new();
    LIMITS.get_or_init(|| {
        let mut limits = vec![1, 2];
        let mut exact = 2.0;
        loop {
            exact *= 1.5;
            if exact > u64::MAX as f64 {
                return limits;
            }
            let (mut digits, mut power) = (exact as u64, 1);
            while digits / 10 > 10 {
                digits /= 10;
                power *= 10;
            }
            limits.push(digits * power);
        }
    })
}

/// Upper ends of finer buckets: 64 between a power of two and the next, so that a percentile is right to 1.6 %.
fn fine_limits() -> &'static [u64] {
    const STEPS: u64 = 64;
    static LIMITS: OnceLock<Vec<u64>> = OnceLock::new();
    LIMITS.get_or_init(|| {
        let steps =
            (1..64 - STEPS.ilog2()).flat_map(|shift| (1..=STEPS).map(move |step| (STEPS + step) << (shift - 1)));
        (1..=STEPS).chain(steps).collect()
    })
}

/// A distribution of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    limits: &'static [u64],
    counts: Vec<u64>,
    count: u64,
    sum: f64,
    sum_of_squares: f64,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::over(limits())
    }
}

impl Histogram {
    fn over(limits: &'static [u64]) -> Self {
        let counts = vec![0; limits.len()];
        Self { limits, counts, count: 0, sum: 0.0, sum_of_squares: 0.0, min: u64::MAX, max: 0 }
    }

    /// Over finer buckets than RocksDB's: percentiles are right to 1.6 %.
    #[must_use]
    pub fn fine() -> Self {
        Self::over(fine_limits())
    }

    /// Counts a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        let bucket = self.limits.partition_point(|limit| *limit < value).min(self.counts.len() - 1);
        self.counts[bucket] += 1;
        self.count += 1;
        self.sum += value as f64;
        self.sum_of_squares += value as f64 * value as f64;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Counts everything that another one of the same buckets counted.
    pub fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, more)| *own += more);
        self.count += other.count;
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Values counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The smallest value; 0 without any.
    #[must_use]
    pub fn min(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min }
    }

    /// The largest value.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The mean; 0 without any value.
    #[must_use]
    pub fn average(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum / self.count as f64 }
    }

    /// The standard deviation of the values themselves.
    #[must_use]
    pub fn standard_deviation(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let count = self.count as f64;
        ((self.sum_of_squares * count - self.sum * self.sum).max(0.0) / (count * count)).sqrt()
    }

    /// The value below which `percent` of the values lie, interpolated within its bucket.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> f64 {
        let threshold = self.count as f64 * (percent / 100.0);
        let mut below = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            let cumulative = below + count;
            if cumulative as f64 >= threshold {
                let left = if bucket == 0 { 0.0 } else { self.limits[bucket - 1] as f64 };
                let right = self.limits[bucket] as f64;
                let position = if *count == 0 { 0.0 } else { (threshold - below as f64) / *count as f64 };
                let value = left + (right - left) * position;
                return value.max(self.min() as f64).min(self.max as f64);
            }
            below = cumulative;
        }
        self.max as f64
    }

    /// The median.
    #[must_use]
    pub fn median(&self) -> f64 {
        self.percentile(50.0)
    }
}

impl fmt::Display for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Count: {} Average: {:.4}  StdDev: {:.2}", self.count, self.average(), self.standard_deviation())?;
        writeln!(f, "Min: {}  Median: {:.4}  Max: {}", self.min(), self.median(), self.max)?;
        let [p50, p75, p99, p999, p9999] = [50.0, 75.0, 99.0, 99.9, 99.99].map(|percent| self.percentile(percent));
        writeln!(f, "Percentiles: P50: {p50:.2} P75: {p75:.2} P99: {p99:.2} P99.9: {p999:.2} P99.99: {p9999:.2}")?;
        writeln!(f, "------------------------------------------------------")?;
        let mut cumulative = 0;
        for (bucket, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            cumulative += count;
            let (open, left) = if bucket == 0 { ('[', 0) } else { ('(', self.limits[bucket - 1]) };
            let share = |count: u64| 100.0 * count as f64 / self.count as f64;
            let marks = (share(*count) / 5.0 + 0.5) as usize;
            writeln!(
                f,
                "{open} {left:7}, {:7} ] {count:8} {:7.3}% {:7.3}% {}",
                self.limits[bucket],
                share(*count),
                share(cumulative),
                "#".repeat(marks)
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_those_of_rocksdb() {
        let expected = [1, 2, 3, 4, 6, 10, 15, 22, 34, 51, 76, 110, 170, 250, 380, 580, 870, 1300, 1900, 2900, 4400];
        assert_eq!(limits()[..expected.len()], expected);
        assert_eq!(limits().len(), 109);
        assert!(limits().is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn printed_as_rocksdb_prints() {
        let mut histogram = Histogram::default();
        for value in [1, 3, 3, 3, 5, 100, 100, 100, 100, 6000] {
            histogram.add(value);
        }
        assert_eq!(
            histogram.to_string(),
            "Count: 10 Average: 641.5000  StdDev: 1786.75\n\
             Min: 1  Median: 6.0000  Max: 6000\n\
             Percentiles: P50: 6.00 P75: 97.25 P99: 6000.00 P99.9: 6000.00 P99.99: 6000.00\n\
             ------------------------------------------------------\n\
             [       0,       1 ]        1  10.000%  10.000% ##\n\
             (       2,       3 ]        3  30.000%  40.000% ######\n\
             (       4,       6 ]        1  10.000%  50.000% ##\n\
             (      76,     110 ]        4  40.000%  90.000% ########\n\
             (    4400,    6600 ]        1  10.000% 100.000% ##\n"
        );
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let (mut whole, mut left, mut right) = (Histogram::default(), Histogram::default(), Histogram::default());
        for value in (0..1000_u64).map(|index| index * index) {
            whole.add(value);
            if value % 2 == 0 { left.add(value) } else { right.add(value) }
        }
        left.merge(&right);
        assert_eq!(left, whole);
        let exact = 749.0 * 749.0;
        assert!((whole.percentile(75.0) / exact - 1.0).abs() < 0.1, "{}", whole.percentile(75.0));
        assert_eq!((whole.min(), whole.max(), whole.count()), (0, 998_001, 1000));
    }

    #[test]
    fn fine_buckets_tell_percentiles_to_two_digits() {
        assert!(fine_limits().is_sorted_by(|a, b| a < b) && fine_limits().last() >= Some(&(1 << 63)));
        assert_eq!(fine_limits()[62..68], [63, 64, 65, 66, 67, 68]);
        let mut histogram = Histogram::fine();
        (0..100_000_u64).for_each(|index| histogram.add(1000 + index * index / 1000));
        for (percent, exact) in [(50.0, 2_501_000.0), (99.0, 9_802_000.0), (99.9, 9_981_000.0)] {
            let found = histogram.percentile(percent);
            assert!((found / exact - 1.0_f64).abs() < 0.016, "{percent}: {found} for {exact}");
        }
        assert_eq!((histogram.min(), histogram.percentile(100.0) as u64), (1000, histogram.max()));
    }

    #[test]
    fn nothing_counted() {
        let empty = Histogram::default();
        assert_eq!((empty.min(), empty.max(), empty.median(), empty.average()), (0, 0, 0.0, 0.0));
        assert!(
            empty.to_string().starts_with("Count: 0 Average: 0.0000  StdDev: 0.00\nMin: 0  Median: 0.0000  Max: 0\n")
        );
        let mut extreme = Histogram::default();
        extreme.add(u64::MAX);
        extreme.add(0);
        assert_eq!((extreme.min(), extreme.max()), (0, u64::MAX));
    }
}
