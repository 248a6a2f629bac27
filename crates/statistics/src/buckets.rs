//! The buckets of a histogram, as RocksDB's: each ends at one and a half times the end of the one before, cut to two
//! digits.
//!
//! ```text
//! bucket   0        1        2        3        4        5         6           108
//! values   0 .. 1   2        3        4        5 .. 6   7 .. 10   11 .. 15    ...
//! ```

/// How many there are.
pub(crate) const BUCKETS: usize = 109;

/// The largest value of each bucket.
pub(crate) const LAST_VALUES: [u64; BUCKETS] = last_values();

/// Where values with the same number of significant bits are: no more than three buckets, as buckets grow by half, and
/// a number of bits doubles.
#[derive(Clone, Copy)]
struct OfBits {
    /// The first of the buckets.
    first: usize,
    /// The largest values of it and of the one behind it.
    ends: [u64; 2],
}

const OF_BITS: [OfBits; 65] = of_bits();

const fn last_values() -> [u64; BUCKETS] {
    let mut values = [0; BUCKETS];
    (values[0], values[1]) = (1, 2);
    let mut end = 2.0_f64;
    let mut bucket = 2;
    while bucket < BUCKETS {
        end *= 1.5;
        // `end` stays below 2^64 up to the last bucket.
        let (mut digits, mut power) = (end as u64, 1);
        while digits / 10 > 10 {
            (digits, power) = (digits / 10, power * 10);
        }
        values[bucket] = digits * power;
        bucket += 1;
    }
    values
}

const fn of_bits() -> [OfBits; 65] {
    let mut all = [OfBits { first: 0, ends: [LAST_VALUES[0], LAST_VALUES[1]] }; 65];
    let mut bits = 1;
    while bits <= 64 {
        let smallest = 1_u64 << (bits - 1);
        let mut first = 0;
        while first + 1 < BUCKETS && LAST_VALUES[first] < smallest {
            first += 1;
        }
        all[bits] = OfBits { first, ends: [end_of(first), end_of(first + 1)] };
        bits += 1;
    }
    all
}

/// The largest value of a bucket; the last one has what is beyond it, too.
const fn end_of(bucket: usize) -> u64 {
    if bucket + 1 < BUCKETS { LAST_VALUES[bucket] } else { u64::MAX }
}

/// The bucket of a value.
#[inline]
pub(crate) fn bucket_of(value: u64) -> usize {
    let OfBits { first, ends } = OF_BITS[64 - value.leading_zeros() as usize];
    first + usize::from(value > ends[0]) + usize::from(value > ends[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_rocksdbs() {
        assert_eq!(LAST_VALUES[..16], [1, 2, 3, 4, 6, 10, 15, 22, 34, 51, 76, 110, 170, 250, 380, 580]);
        assert!(LAST_VALUES.is_sorted_by(|a, b| a < b));
        assert_eq!(LAST_VALUES[BUCKETS - 1], 13_000_000_000_000_000_000);
    }

    #[test]
    fn a_value_is_in_the_first_bucket_that_does_not_end_before_it() {
        let values = (0..100_000).chain((0..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]));
        for value in values.chain(LAST_VALUES.iter().flat_map(|end| [end - 1, *end, end + 1])).chain([u64::MAX]) {
            let expected = LAST_VALUES.partition_point(|end| *end < value).min(BUCKETS - 1);
            assert_eq!(bucket_of(value), expected, "{value}");
        }
    }
}
